import type { ComponentChildren, JSX } from 'preact'
import { Icon } from '../../shared/icons.tsx'
import { FieldMessage } from '../field-shell.tsx'
import { useSetupContext } from '../use-setup.ts'

/** A list whose rows can be added and removed; read-only when the environment sets it. */
export function ListFrame({
  name,
  add,
  empty,
  count,
  onAdd,
  children,
}: {
  name: 'PLANS' | 'ROUTES'
  add: string
  empty: string
  count: number
  onAdd: () => void
  children: ComponentChildren
}): JSX.Element {
  const setup = useSetupContext()
  const locked = setup.isLocked(name)
  const message = setup.messageOf(name)
  return (
    <fieldset class="list" disabled={locked} id={`list-${name.toLowerCase()}`}>
      <legend class="off-screen">{name === 'PLANS' ? 'Plans' : 'Routes'}</legend>
      {count === 0 ? <p class="empty">{empty}</p> : <ul class="rows">{children}</ul>}
      {message?.level === 'warn' && <FieldMessage id={`list-${name.toLowerCase()}`} message={message} />}
      {locked ? (
        <p class="field-message lock">
          <Icon name="lock" />
          <span>
            Set by the environment. Change <code>{name}</code> there and restart the server.
          </span>
        </p>
      ) : (
        <button type="button" class="button" onClick={onAdd}>
          <Icon name="plus" />
          {add}
        </button>
      )}
    </fieldset>
  )
}
