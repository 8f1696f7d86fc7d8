import { execFile } from 'node:child_process'
import { chownSync, mkdtempSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { runAtParentsEnd } from './run-at-parents-end.ts'

const run = promisify(execFile)

export type Owner = { uid: number; gid: number }

/** By the folder of the programs: initdb takes about a second, and a copy of what it made a tenth of that. */
const made = new Map<string, Promise<string>>()

/** A folder in the temporary one that belongs to the server's user. */
export function ownFolder(owner: Owner | undefined): string {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-postgres-'))
  if (owner) chownSync(folder, owner.uid, owner.gid)
  return folder
}

/** Creates the data of a new server, whose only user is `paystile`, at `path`. */
export async function createData(
  path: string,
  { programs, password, owner }: { programs: string; password: string; owner: Owner | undefined },
): Promise<void> {
  let original = made.get(programs)
  if (!original) {
    original = initialize(programs, password, owner)
    made.set(programs, original)
    original.catch(() => made.delete(programs))
  }
  // Keeps owners and permissions, which the server checks.
  await run('cp', ['-a', await original, path])
}

async function initialize(programs: string, password: string, owner: Owner | undefined): Promise<string> {
  const folder = ownFolder(owner)
  const data = join(folder, 'data')
  const passwordFile = join(folder, 'password')
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (owner) chownSync(passwordFile, owner.uid, owner.gid)
  const words = ['-D', data, '-U', 'paystile', '-A', 'scram-sha-256', '--pwfile', passwordFile]
  try {
    await run(join(programs, 'initdb'), [...words, '-N', '-E', 'UTF8', '--locale=C.UTF-8'], {
      ...owner,
      cwd: folder,
    })
  } catch (cause) {
    await rm(folder, { recursive: true, force: true })
    throw new Error(`initdb failed: ${(cause as { stderr?: string }).stderr || cause}`, { cause })
  }
  // It is not known when the last server will be started.
  runAtParentsEnd('rm -rf "$1"', folder)
  return data
}
