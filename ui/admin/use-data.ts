import { useEffect, useState } from 'preact/hooks'
import { ApiError, get } from '../shared/api.ts'

export interface Data<T> {
  data: T | undefined
  fault: string
  /** The path from which the data came; for a moment this may be the previous one. */
  path: string | undefined
}

/** When to ask again after a failed request. */
const RETRY_MS = 3_000

/** Reads a path, and again at every tick. Old data stay on the screen until the next answer. */
export function useData<T>(path: string | undefined, tick: number): Data<T> {
  const [tries, setTries] = useState(0)
  const [found, setFound] = useState<Data<T>>({
    data: undefined,
    fault: '',
    path,
  })
  useEffect(() => {
    if (path === undefined) return
    const abort = new AbortController()
    let retry: ReturnType<typeof setTimeout> | undefined
    get<T>(path, abort.signal).then(
      (data) => setFound({ data, fault: '', path }),
      (error: unknown) => {
        if (abort.signal.aborted) return
        const fault = error instanceof ApiError ? error.message : String(error)
        setFound((old) => ({ data: old.path === path ? old.data : undefined, fault, path }))
        // Without this, nothing would ask again until something changes, which may take hours.
        retry = setTimeout(() => setTries((count) => count + 1), RETRY_MS)
      },
    )
    return () => {
      abort.abort()
      clearTimeout(retry)
    }
  }, [path, tick, tries])
  return found
}

/** The current time, for "3 minutes ago"; updated every half minute. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return now
}
