import { useEffect, useState } from 'preact/hooks'
import { addressOf } from '../shared/api.ts'

/** Changes are collected for a moment, or a busy gateway would make every page ask all the time. */
const GATHER_MS = 400
/** How long a stream may be gone before the page says so. */
const LOST_MS = 2_000
/** How often to ask while the stream is down. */
const POLL_MS = 10_000

export interface Live {
  /** Incremented whenever something may have changed. */
  tick: number
  connected: boolean
  refresh(): void
}

/** Follows the server's events; while the stream is down, it ticks at a fixed interval. */
export function useLive(): Live {
  const [tick, setTick] = useState(0)
  const [connected, setConnected] = useState(false)
  const refresh = (): void => setTick((count) => count + 1)

  useEffect(() => {
    const events = new EventSource(addressOf('/admin/api/events'))
    let gathering: ReturnType<typeof setTimeout> | undefined
    const gather = (): void => {
      gathering ??= setTimeout(() => {
        gathering = undefined
        refresh()
      }, GATHER_MS)
    }
    let wasOpen = false
    let losing: ReturnType<typeof setTimeout> | undefined
    events.onopen = () => {
      clearTimeout(losing)
      losing = undefined
      setConnected(true)
      // Catch up with changes that were missed.
      if (wasOpen) gather()
      wasOpen = true
    }
    // Some servers end the stream now and then, and it is back at once.
    events.onerror = () => {
      losing ??= setTimeout(() => setConnected(false), LOST_MS)
    }
    events.addEventListener('change', gather)
    return () => {
      clearTimeout(gathering)
      clearTimeout(losing)
      events.close()
    }
  }, [])

  useEffect(() => {
    if (connected) return
    const timer = setInterval(refresh, POLL_MS)
    return () => clearInterval(timer)
  }, [connected])

  return { tick, connected, refresh }
}
