import type { StoreChoice, Turns } from '../ports.ts'

/** Lets instances take turns, if there is a Redis to coordinate them. */
export async function openTurns(choice: StoreChoice): Promise<Turns | undefined> {
  const url = choice.kind === 'redis' ? choice.url : choice.kind === 'postgres' ? choice.wakeupsUrl : null
  if (url === null) return undefined
  const { createRedisTurns } = await import('./redis/turns.ts')
  return createRedisTurns(url)
}
