import { limitKey } from './rate-limit.ts'

/** Takes a place for one more answer. The function gives it back; undefined: the client has none left. */
export type OpenLimit = (client: string) => (() => void) | undefined

/**
 * Limits how many answers one client has open at the same time. Those that are passed on from the backend as they come each
 * hold a connection to it for as long as the client likes to read.
 */
export function createOpenLimit(perClient: number): OpenLimit {
  const open = new Map<string, number>()
  return (client) => {
    const key = limitKey(client)
    const before = open.get(key) ?? 0
    if (before >= perClient) return undefined
    open.set(key, before + 1)
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      const now = open.get(key)!
      if (now > 1) open.set(key, now - 1)
      else open.delete(key)
    }
  }
}
