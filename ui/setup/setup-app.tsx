import type { JSX } from 'preact'
import { useCallback, useEffect, useState } from 'preact/hooks'
import { ApiError, get } from '../shared/api.ts'
import type { Frame } from '../shared/app-frame.tsx'
import { Header } from '../shared/header.tsx'
import { Notice } from '../shared/notice.tsx'
import type { SetupState } from '../shared/wire.ts'
import { LivePage, type Sold } from './live-page.tsx'
import { SetupForm } from './setup-form.tsx'

export function SetupApp({ frame }: { frame: Frame }): JSX.Element {
  const [state, setState] = useState<SetupState>()
  const [fault, setFault] = useState('')
  const [live, setLive] = useState<Sold>()
  /** The session was read before: what this page has started since is not in it. */
  const [hasStarted, setStarted] = useState(false)

  const load = useCallback(async () => {
    setFault('')
    try {
      setState(await get<SetupState>('/setup/api/state'))
    } catch (error) {
      setFault(error instanceof ApiError ? error.message : String(error))
    }
  }, [])
  useEffect(() => void load(), [load])

  const goLive = (sold: Sold): void => {
    setStarted(true)
    setLive(sold)
  }
  const again = (): void => {
    setState(undefined)
    setLive(undefined)
    void load()
  }
  return (
    <>
      <Header
        frame={hasStarted ? { ...frame, session: { ...frame.session, configured: true } } : frame}
        here="setup"
      />
      {live ? (
        <LivePage sold={live} onEdit={again} />
      ) : state ? (
        <SetupForm state={state} onLive={goLive} />
      ) : (
        <main class="page-note" id="main">
          {fault === '' ? (
            <p>Loading…</p>
          ) : (
            <Notice level="error" title="The settings could not be read">
              <p>{fault}</p>
              <button type="button" class="button" onClick={again}>
                Try again
              </button>
            </Notice>
          )}
        </main>
      )}
    </>
  )
}
