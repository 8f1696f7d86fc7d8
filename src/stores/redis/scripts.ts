import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RedisConnection } from './connect-redis.ts'

interface Script {
  source: string
  sha: string
}

/** Each file says at its top what it takes and returns. */
export const scripts = {
  commit: readScript('commit.lua'),
  takeDue: readScript('take-due.lua'),
  list: readScript('list.lua'),
  readAudit: readScript('read-audit.lua'),
  endTurn: readScript('end-turn.lua'),
}

/** Runs a script by its hash; a server that does not know it (restarted, failed over) is given the text. */
export async function runScript(
  connection: Pick<RedisConnection, 'call'>,
  { source, sha }: Script,
  key: string,
  args: readonly string[],
): Promise<unknown> {
  try {
    return await connection.call('evalsha', sha, '1', key, ...args)
  } catch (error) {
    // This answer alone says that nothing ran; after any other the script may have.
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
    return connection.call('eval', source, '1', key, ...args)
  }
}

function readScript(file: string): Script {
  const source = readFileSync(new URL(file, import.meta.url), 'utf8')
  return { source, sha: createHash('sha1').update(source).digest('hex') }
}
