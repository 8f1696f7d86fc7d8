import type { ComponentChildren, JSX } from 'preact'
import { Icon } from '../../shared/icons.tsx'
import type { RowMessage } from '../row-messages.ts'

/** One labelled box of a row; its message is shown below the row. */
export function Cell({
  id,
  label,
  cell,
  value,
  messages,
  placeholder,
  dollars,
  mono,
  disabled,
  wide,
  inputMode,
  onInput,
}: {
  id: string
  label: string
  cell: string
  value: string
  messages: RowMessage[]
  placeholder?: string
  /** An amount: shown after the sign, typed with a keyboard for numbers. */
  dollars?: boolean
  mono?: boolean
  disabled?: boolean
  wide?: boolean
  inputMode?: 'decimal' | 'numeric'
  onInput: (value: string) => void
}): JSX.Element {
  const isFaulty = messages.some((message) => message.cell === cell)
  return (
    <CellShell id={id} label={label} wide={wide ?? false}>
      <div class={dollars ? 'with-prefix' : ''}>
        {dollars && (
          <span class="prefix" aria-hidden="true">
            $
          </span>
        )}
        <input
          id={id}
          type="text"
          value={value}
          placeholder={placeholder ?? ''}
          class={mono ? 'mono' : ''}
          disabled={disabled ?? false}
          spellcheck={false}
          autocomplete="off"
          inputMode={inputMode ?? (dollars ? 'decimal' : 'text')}
          {...(isFaulty && { 'aria-invalid': true, 'aria-describedby': `${id}-message` })}
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      </div>
    </CellShell>
  )
}

export function CellShell({
  id,
  label,
  wide,
  children,
}: {
  id: string
  label: string
  wide?: boolean
  children: ComponentChildren
}): JSX.Element {
  return (
    <div class={`cell ${wide ? 'wide' : ''}`}>
      <label for={id}>{label}</label>
      {children}
    </div>
  )
}

/** The faults of a row, below it over its whole width; `boxes` (cell → id) connects each message with its box. */
export function RowMessages({
  messages,
  boxes,
}: {
  messages: RowMessage[]
  boxes: Record<string, { id: string; label: string }>
}): JSX.Element | null {
  if (messages.length === 0) return null
  return (
    <div class="row-messages">
      {messages.map(({ cell, text }, index) => {
        const box = boxes[cell ?? '']
        const isFirst = messages.findIndex((other) => other.cell === cell) === index
        return (
          <p key={text} class="field-message error" {...(box && isFirst && { id: `${box.id}-message` })}>
            <Icon name="error" />
            <span>{box ? `${box.label}: ${lowerFirst(text)}` : text}</span>
          </p>
        )
      })}
    </div>
  )
}

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)
