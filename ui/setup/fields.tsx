import type { ComponentChildren, JSX } from 'preact'
import { describedBy, FieldShell, fieldId } from './field-shell.tsx'
import { isSecretName } from './networks.ts'
import { SecretField } from './secret-field.tsx'
import { useSetupContext } from './use-setup.ts'

interface FieldProps {
  name: string
  label: string
  hint?: ComponentChildren
  placeholder?: string
  optional?: boolean
  mono?: boolean
  lines?: number
  inputMode?: 'numeric' | 'url' | 'email' | 'text'
  unit?: string
  /** For secrets: offers to generate one. */
  canGenerate?: boolean
}

/** A text setting. A secret setting gets the field for secrets. */
export function Field(props: FieldProps): JSX.Element {
  const { state } = useSetupContext()
  return isSecretName(props.name, state) ? <SecretField {...props} /> : <TextField {...props} />
}

function TextField({ name, label, hint, optional, unit, lines, ...look }: FieldProps): JSX.Element {
  const setup = useSetupContext()
  const id = fieldId(name)
  const locked = setup.isLocked(name)
  const message = setup.messageOf(name)
  const common = {
    id,
    name,
    value: setup.form.values[name] ?? '',
    placeholder: look.placeholder ?? '',
    readOnly: locked,
    spellcheck: false,
    autocomplete: 'off',
    class: look.mono ? 'mono' : '',
    onInput: (event: { currentTarget: { value: string } }) => setup.set(name, event.currentTarget.value),
    ...describedBy(id, hint !== undefined, message),
  }
  return (
    <FieldShell
      name={name}
      label={label}
      hint={hint}
      optional={optional ?? false}
      locked={locked}
      message={message}
    >
      {lines ? (
        <textarea rows={lines} {...(common as JSX.TextareaHTMLAttributes)} />
      ) : (
        <div class={unit ? 'with-unit' : ''}>
          <input type="text" inputMode={look.inputMode ?? 'text'} {...(common as JSX.InputHTMLAttributes)} />
          {unit && <span class="unit">{unit}</span>}
        </div>
      )}
    </FieldShell>
  )
}

/** A switch. A default value is not saved: the configuration has only values that differ from their defaults. */
export function Flag({
  name,
  label,
  hint,
  byDefault,
}: {
  name: string
  label: string
  hint: ComponentChildren
  byDefault: boolean
}): JSX.Element {
  const setup = useSetupContext()
  const id = fieldId(name)
  const locked = setup.isLocked(name)
  const message = setup.messageOf(name)
  const text = (setup.form.values[name] ?? '').toLowerCase()
  const on = text === '' ? byDefault : text === 'true' || text === '1'
  return (
    <div class="flag">
      <input
        type="checkbox"
        id={id}
        checked={on}
        disabled={locked}
        aria-describedby={`${id}-hint`}
        onChange={(event) => {
          const next = event.currentTarget.checked
          setup.set(name, next === byDefault ? '' : String(next))
        }}
      />
      <div>
        <div class="field-head">
          <label for={id}>{label}</label>
          <code class="variable">{name}</code>
        </div>
        <p id={`${id}-hint`} class="hint">
          {hint}
          {locked && ' It is set in the environment.'}
        </p>
        {message && <p class={`field-message ${message.level}`}>{message.message}</p>}
      </div>
    </div>
  )
}

/** Settings that most sellers never change. */
export function More({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <details class="more">
      <summary>{title}</summary>
      <div class="more-body">{children}</div>
    </details>
  )
}
