import type { ComponentChildren, JSX } from 'preact'
import { Icon } from '../shared/icons.tsx'
import type { FieldCheck } from '../shared/wire.ts'

/** Never editable, since the page's own settings are in that folder. */
const NOT_ON_THE_PAGE = new Set(['DATA_DIR'])

export const fieldId = (name: string): string => `field-${name.toLowerCase().replaceAll('_', '-')}`

/** Connects an input with its hint and message for screen readers. */
export function describedBy(id: string, hint: boolean, message: FieldCheck | undefined): JSX.HTMLAttributes {
  const ids = [hint && `${id}-hint`, message && `${id}-message`].filter(Boolean).join(' ')
  return {
    ...(ids !== '' && { 'aria-describedby': ids }),
    ...(message?.level === 'error' && { 'aria-invalid': true }),
  }
}

export function FieldMessage({
  id,
  message,
}: {
  id: string
  message: FieldCheck | undefined
}): JSX.Element | null {
  if (!message) return null
  return (
    <p id={`${id}-message`} class={`field-message ${message.level}`}>
      <Icon name={message.level} />
      <span>{message.message}</span>
    </p>
  )
}

/** Label, variable name, hint, input and message, in this order. */
export function FieldShell({
  name,
  label,
  hint,
  optional,
  locked,
  message,
  children,
}: {
  name: string
  label: string
  hint?: ComponentChildren
  optional?: boolean
  locked?: boolean
  message: FieldCheck | undefined
  children: ComponentChildren
}): JSX.Element {
  const id = fieldId(name)
  return (
    <div class={`field ${locked ? 'locked' : ''}`}>
      <div class="field-head">
        <label for={id}>
          {label}
          {optional && <span class="optional"> optional</span>}
        </label>
        <code class="variable">{name}</code>
      </div>
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
      {children}
      {locked && (
        <p class="field-message lock">
          <Icon name="lock" />
          <span>
            {NOT_ON_THE_PAGE.has(name) ? 'It cannot be changed on this page: set it' : 'It is set'} in the
            environment, as <code>{name}</code>. After a change there, restart the server.
          </span>
        </p>
      )}
      <FieldMessage id={id} message={message} />
    </div>
  )
}
