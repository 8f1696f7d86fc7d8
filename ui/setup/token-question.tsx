import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Notice } from '../shared/notice.tsx'

/** Asks for the token again: a stranger who finds this page open must not be able to redirect the money. */
export function TokenQuestion({
  names,
  reason,
  busy,
  onToken,
  onCancel,
}: {
  names: readonly string[]
  reason: string
  busy: boolean
  onToken: (token: string) => void
  onCancel: () => void
}): JSX.Element {
  const [token, setToken] = useState('')
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [reason])
  const send = (): void => {
    if (token.trim() !== '') onToken(token.trim())
    else input.current?.focus()
  }
  return (
    <Notice level="warn" title="Enter the operator’s token again">
      <p>
        Changing{' '}
        {names.map((name, index) => (
          <>
            {index > 0 && ', '}
            <code key={name}>{name}</code>
          </>
        ))}{' '}
        needs it. {reason}
      </p>
      <div class="token-again">
        <label for="token-again" class="off-screen">
          Token
        </label>
        <input
          ref={input}
          id="token-again"
          type="password"
          autocomplete="current-password"
          spellcheck={false}
          value={token}
          onInput={(event) => setToken(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter') send()
          }}
        />
        <button type="button" class="button primary" disabled={busy} onClick={send}>
          Save with the token
        </button>
        <button type="button" class="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </Notice>
  )
}
