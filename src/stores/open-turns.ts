import type { StoreChoice, Turns } from '../ports.ts'

/** Turns between instances, where a Redis is there to keep them. */
export async function openTurns(choice: StoreChoice): Promise<Turns | undefined> {
  const url = choice.kind === 'redis' ? choice.url : choice.kind === 'postgres' ? choice.wakeupsUrl : null
  if (url === null) return undefined
  const { createRedisTurns } = await import('./redis/turns.ts')
  return createRedisTurns(url)
}
