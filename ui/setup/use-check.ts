import { useEffect, useState } from 'preact/hooks'
import { ApiError, post } from '../shared/api.ts'
import type { CheckAnswer, SetupInput } from '../shared/wire.ts'

const PAUSE_MS = 400

/** Asks the server to check what is typed, a moment after the last key. An older answer never replaces a newer one. */
export function useCheck(input: SetupInput): { answer: CheckAnswer | undefined; checking: boolean } {
  const [answer, setAnswer] = useState<CheckAnswer>()
  const [checking, setChecking] = useState(true)
  const body = JSON.stringify(input)

  useEffect(() => {
    const abort = new AbortController()
    const ask = async (): Promise<void> => {
      try {
        const checked = await post<CheckAnswer>('/setup/api/check', JSON.parse(body), abort.signal)
        if (abort.signal.aborted) return
        setAnswer(checked)
        setChecking(false)
      } catch (error) {
        // Ignored: the next key asks again, and saving reports faults.
        if (error instanceof ApiError) setChecking(false)
      }
    }
    setChecking(true)
    const timer = setTimeout(() => void ask(), PAUSE_MS)
    return () => {
      clearTimeout(timer)
      abort.abort()
    }
  }, [body])

  return { answer, checking }
}
