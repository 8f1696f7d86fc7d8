import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RedisConnection } from './connect-redis.ts'

interface Script {
  source: string
  sha: string
}

/** The head of each file describes its arguments and its result. */
export const scripts = {
  commit: readScript('commit.lua'),
  takeDue: readScript('take-due.lua'),
  list: readScript('list.lua'),
  listDue: readScript('list-due.lua'),
  readAudit: readScript('read-audit.lua'),
  endTurn: readScript('end-turn.lua'),
}

/** Runs a script by its hash; if the server does not know it (after a restart or failover), sends the text. */
export async function runScript(
  connection: Pick<RedisConnection, 'call'>,
  { source, sha }: Script,
  key: string,
  args: readonly string[],
): Promise<unknown> {
  try {
    return await connection.call('evalsha', sha, '1', key, ...args)
  } catch (error) {
    // Only this error means that nothing ran; after any other the script may have run.
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return connection.call('eval', source, '1', key, ...args)
  }
}

function readScript(file: string): Script {
  const source = readFileSync(new URL(file, import.meta.url), 'utf8')
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}
