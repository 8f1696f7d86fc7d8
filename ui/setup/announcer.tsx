import type { JSX } from 'preact'
import { useSetupContext } from './use-setup.ts'

/** Reads out what the server says of the field that was edited last; the other fields stay quiet. */
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
