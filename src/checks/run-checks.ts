import { reasonOf } from '../reason-of.ts'

/** The result of a check. */
export interface Finding {
  /** The variable that it is about, or a topic such as `clock`. */
  name: string
  level: 'ok' | 'warn' | 'error'
  /** What was found; never a secret. */
  message: string
  /** What to do about it, if anything. */
  fix?: string
}

/** One question to a server or the chain. `run` rejects if it cannot be asked. */
export interface Check {
  name: string
  /** What is asked, as messages name it: `the RPC at node.example`. */
  asks: string
  /** What to do when it does not answer. */
  fix: string
  /** The level if there is no answer. Default `error`; `warn` if another check reports the cause. */
  silence?: 'warn'
  run(limitMs: number): Promise<Finding[]>
}

const LIMIT_MS = 5_000

/** How long one of several servers may take, where those that answer count and the others are told by another check. */
export function eachWithin(limitMs: number): number {
  return limitMs * 0.8
}

/** Runs all checks at once, each within the limit; a check without an answer becomes a finding. Never rejects. */
export async function runChecks(checks: readonly Check[], limitMs: number = LIMIT_MS): Promise<Finding[]> {
  const found = await Promise.all(checks.map((check) => runOne(check, limitMs)))
  return found.flat()
}

async function runOne(check: Check, limitMs: number): Promise<Finding[]> {
  const { name, asks, fix, silence: level = 'error' } = check
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<Finding[]>((resolve) => {
    const message = `${asks} does not answer within ${limitMs / 1000} s`
    timer = setTimeout(() => resolve([{ name, level, message, fix }]), limitMs)
  })
  try {
    return await Promise.race([check.run(limitMs), late])
  } catch (error) {
    return [{ name, level, message: `${asks} ${reasonOf(error)}`, fix }]
  } finally {
    clearTimeout(timer)
  }
}
