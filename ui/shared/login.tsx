import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, isEmbedded, logIn } from './api.ts'
import { Brand } from './icons.tsx'

/** Removes `?token=` from the address: it must not stay in the address bar, the history or a screenshot. */
function takeTokenFromAddress(): string {
  const url = new URL(location.href)
  const token = url.searchParams.get('token') ?? ''
  if (url.searchParams.has('token')) {
    url.searchParams.delete('token')
    history.replaceState(null, '', url)
  }
  return token
}

export const tokenFromAddress = takeTokenFromAddress()

export function Login({ purpose, onDone }: { purpose: string; onDone: () => void }): JSX.Element {
  const [token, setToken] = useState('')
  const [fault, setFault] = useState('')
  const [busy, setBusy] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => input.current?.focus(), [])

  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    if (token.trim() === '') {
      setFault('Paste the token first.')
      input.current?.focus()
      return
    }
    setBusy(true)
    try {
      await logIn(token.trim())
      onDone()
    } catch (error) {
      setFault(faultOf(error))
      setBusy(false)
      input.current?.focus()
    }
  }

  return (
    <main class="login" id="main">
      <form class="card login-card" onSubmit={(event) => void submit(event)} noValidate>
        <Brand />
        <h1>{purpose}</h1>
        <p class="muted">
          Log in with the operator’s token:{' '}
          {isEmbedded ? (
            <>
              the one that your application gives to <code>paystileAdmin</code>.
            </>
          ) : (
            <>
              the value of <code>ADMIN_TOKEN</code>, or the one that the server printed in its log when it
              started.
            </>
          )}
        </p>
        <div class="field">
          <label for="token">Token</label>
          <input
            ref={input}
            id="token"
            type="password"
            autocomplete="current-password"
            spellcheck={false}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
            aria-invalid={fault !== ''}
            aria-describedby="token-fault"
          />
          <p id="token-fault" class="field-message error" role="alert">
            {fault}
          </p>
        </div>
        <button type="submit" class="button primary wide" disabled={busy}>
          {busy ? 'Logging in…' : 'Log in'}
        </button>
      </form>
    </main>
  )
}

function faultOf(error: unknown): string {
  if (!(error instanceof ApiError)) return String(error)
  if (error.status === 401)
    return `This token is not right. Compare it with ${isEmbedded ? 'the one in your application' : 'ADMIN_TOKEN or with the server’s log'}.`
  if (error.status === 429) return 'Too many tries. Wait a minute, then try again.'
  return error.message
}
