import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from '../shared/icons.tsx'
import { describedBy, FieldShell, fieldId } from './field-shell.tsx'
import { generateSecret } from './generate-secret.ts'
import { useSetupContext } from './use-setup.ts'

/**
 * A secret can be typed but is never shown: the server says only that it is set. The old one is kept until a new one is typed.
 */
export function SecretField({
  name,
  label,
  hint,
  optional,
  placeholder,
  lines,
  canGenerate,
}: {
  name: string
  label: string
  hint?: ComponentChildren
  optional?: boolean
  placeholder?: string
  lines?: number
  canGenerate?: boolean
}): JSX.Element {
  const setup = useSetupContext()
  // URLs are shown while they are typed; keys are not, since they are pasted.
  const isAddress = /_URL(_\d+)?$/.test(name)
  const [visible, setVisible] = useState(isAddress)
  const id = fieldId(name)
  const known = setup.state.secrets[name]
  const locked = setup.isLocked(name)
  const typed = setup.form.secrets[name]
  const message = setup.messageOf(name)
  const isSet = known?.set === true && typed === undefined

  const input = {
    id,
    name,
    value: typed ?? '',
    placeholder: placeholder ?? '',
    spellcheck: false,
    autocomplete: 'off',
    'data-1p-ignore': true,
    class: 'mono',
    onInput: (event: { currentTarget: { value: string } }) => {
      const { value } = event.currentTarget
      setup.setSecret(name, value === '' && !known?.set ? undefined : value)
    },
    ...describedBy(id, hint !== undefined, message),
  }
  const generate = (): void => {
    setup.setSecret(name, generateSecret())
    setVisible(true)
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
      {locked || isSet ? (
        <div class="secret-set">
          <output id={id} class="secret-state">
            <Icon name="lock" />
            <span>Set{known?.hint && <code class="secret-hint">{known.hint}</code>}</span>
          </output>
          {!locked && (
            <>
              <button type="button" class="button small" onClick={() => setup.setSecret(name, '')}>
                Replace<span class="off-screen"> {label}</span>
              </button>
              {optional && (
                <button type="button" class="button small quiet" onClick={() => setup.setSecret(name, null)}>
                  Remove<span class="off-screen"> {label}</span>
                </button>
              )}
            </>
          )}
        </div>
      ) : typed === null ? (
        <div class="secret-set">
          <output id={id} class="secret-state">
            Removed when you save
          </output>
          <button type="button" class="button small" onClick={() => setup.setSecret(name, undefined)}>
            Keep it<span class="off-screen"> ({label})</span>
          </button>
        </div>
      ) : (
        <div class="secret-edit">
          {lines ? (
            <textarea rows={lines} {...(input as JSX.TextareaHTMLAttributes)} />
          ) : (
            <input type={visible ? 'text' : 'password'} {...(input as JSX.InputHTMLAttributes)} />
          )}
          <div class="secret-buttons">
            {canGenerate && (
              <button type="button" class="button small" onClick={generate}>
                <Icon name="key" />
                Generate<span class="off-screen"> {label}</span>
              </button>
            )}
            {!lines && !isAddress && (
              <button
                type="button"
                class="button small quiet"
                aria-pressed={visible}
                onClick={() => setVisible(!visible)}
              >
                {visible ? 'Hide' : 'Show'}
                <span class="off-screen"> {label}</span>
              </button>
            )}
            {known?.set && (
              <button
                type="button"
                class="button small quiet"
                onClick={() => setup.setSecret(name, undefined)}
              >
                Keep the old one<span class="off-screen"> ({label})</span>
              </button>
            )}
          </div>
        </div>
      )}
    </FieldShell>
  )
}
