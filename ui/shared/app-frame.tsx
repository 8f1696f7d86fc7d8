import type { ComponentChildren, JSX } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ApiError, logIn, post, readSession, whenLoggedOut } from './api.ts'
import { Login, tokenFromAddress } from './login.tsx'
import { Notice } from './notice.tsx'
import type { Session } from './wire.ts'

type Stage = { at: 'loading' } | { at: 'offline'; fault: string } | { at: 'known'; session: Session }

export interface Frame {
  session: Session
  logOut(): void
}

/** Shows the login until there is a session, and again when the server no longer knows it. */
export function AppFrame({
  purpose,
  children,
}: {
  purpose: string
  children: (frame: Frame) => ComponentChildren
}): JSX.Element {
  const [stage, setStage] = useState<Stage>({ at: 'loading' })

  const load = useCallback(async () => {
    try {
      setStage({ at: 'known', session: await readSession() })
    } catch (error) {
      setStage({ at: 'offline', fault: error instanceof ApiError ? error.message : String(error) })
    }
  }, [])

  useEffect(() => {
    whenLoggedOut(() => void load())
    const start = async (): Promise<void> => {
      // A token that is wrong or used up leads to the login, which explains itself.
      if (tokenFromAddress !== '') await logIn(tokenFromAddress).catch(() => undefined)
      await load()
    }
    void start()
  }, [load])

  if (stage.at === 'loading') return <p class="page-note">Loading…</p>
  if (stage.at === 'offline') {
    return (
      <main class="page-note" id="main">
        <Notice level="error" title="The server does not answer">
          <p>{stage.fault}</p>
          <button type="button" class="button" onClick={() => void load()}>
            Try again
          </button>
        </Notice>
      </main>
    )
  }
  if (!stage.session.loggedIn) return <Login purpose={purpose} onDone={() => void load()} />
  const logOut = (): void => {
    void post('/admin/api/logout')
      .catch(() => undefined)
      .then(load)
  }
  return <>{children({ session: stage.session, logOut })}</>
}
