import { useEffect, useState } from 'preact/hooks'
import { ApiError, get } from '../shared/api.ts'

export interface Data<T> {
  data: T | undefined
  fault: string
  /** Where the data came from: for a moment still the path before. */
  path: string | undefined
}

/** After an answer that did not come, ask again. */
const RETRY_MS = 3_000

/** Reads a path, and again at every tick. What was read stays on the screen until the next answer. */
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
        // Nothing else may change for hours, and then nothing would ask.
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

/** The time, for "3 minutes ago"; it moves every half minute. */
export function useNow(): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 30_000)
    return () => clearInterval(timer)
  }, [])
  return now
}
