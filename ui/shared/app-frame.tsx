import type { ComponentChildren, JSX } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ApiError, logIn, post, readSession, whenLoggedOut } from './api.ts'
import { Login, tokenFromAddress } from './login.tsx'
import { Notice } from './notice.tsx'
import { isUnsaved, mayLose, setUnsaved } from './unsaved.ts'
import type { Session } from './wire.ts'

type Stage = { at: 'loading' } | { at: 'offline'; fault: string } | { at: 'known'; session: Session }

export interface Frame {
  session: Session
  logOut(): void
}

/** Shows the login until there is a session, and again when the session has ended. */
export function AppFrame({
  purpose,
  children,
}: {
  purpose: string
  children: (frame: Frame) => ComponentChildren
}): JSX.Element {
  const [stage, setStage] = useState<Stage>({ at: 'loading' })
  // If the session ends while something is being typed, the text must not be lost.
  const [kept, setKept] = useState<Session>()

  const load = useCallback(async () => {
    try {
      const session = await readSession()
      setStage({ at: 'known', session })
      setKept((before) => (session.loggedIn ? session : isUnsaved() ? before : undefined))
    } catch (error) {
      setKept((before) => (isUnsaved() ? before : undefined))
      setStage({ at: 'offline', fault: error instanceof ApiError ? error.message : String(error) })
    }
  }, [])

  useEffect(() => {
    whenLoggedOut(() => void load())
    const start = async (): Promise<void> => {
      // If the token is wrong or used already, the login is shown.
      if (tokenFromAddress !== '') await logIn(tokenFromAddress).catch(() => undefined)
      await load()
    }
    void start()
  }, [load])

  const logOut = (): void => {
    if (!mayLose('Log out')) return
    setUnsaved(false)
    void post('/admin/api/logout')
      .catch(() => undefined)
      .then(load)
  }
  const loggedIn = stage.at === 'known' && stage.session.loggedIn
  const session = loggedIn ? stage.session : kept
  return (
    <>
      {stage.at === 'loading' && <p class="page-note">Loading…</p>}
      {stage.at === 'offline' && (
        <main class="page-note" id="main">
          <Notice level="error" title="The server does not answer">
            <p>{stage.fault}</p>
            <button type="button" class="button" onClick={() => void load()}>
              Try again
            </button>
          </Notice>
        </main>
      )}
      {stage.at === 'known' && !loggedIn && <Login purpose={purpose} onDone={() => void load()} />}
      {session && (
        <div key="page" hidden={!loggedIn}>
          {children({ session, logOut })}
        </div>
      )}
    </>
  )
}
