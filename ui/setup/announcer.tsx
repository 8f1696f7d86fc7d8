import type { JSX } from 'preact'
import { useSetupContext } from './use-setup.ts'

/** Lets screen readers read the server's message about the field that was edited last, and no other. */
export function Announcer(): JSX.Element {
  const { checking, lastEdited, messageOf, rowMessagesOf } = useSetupContext()
  const row =
    lastEdited === 'PLANS' || lastEdited === 'ROUTES' ? rowMessagesOf(lastEdited)[0]?.text : undefined
  const text = row ?? (lastEdited === '' ? undefined : messageOf(lastEdited)?.message)
  return (
    <div class="off-screen" aria-live="polite" aria-atomic="true">
      {checking ? '' : (text ?? '')}
    </div>
  )
}
