import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { ConfigError } from '../errors.ts'
import { syncFolder } from '../sync-folder.ts'
import { MIN_SECRET_KEY_LENGTH } from './secret-keys.ts'

/**
 * The secret of the embedded store: the file `secret-key` in the data folder, generated once and readable by its owner
 * only. If two processes start together, one generates it and both use it. An unusable file is never replaced, because
 * everything that was sealed with it would be lost.
 */
export function readOrGenerateSecret(dataDir: string): string {
  const file = join(dataDir, 'secret-key')
  const secret = readSecret(file)
  if (secret !== undefined) return secret
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 })
    generateSecret(file, dataDir)
  } catch (error) {
    throw new ConfigError([
      `${file} cannot be written (${codeOf(error)}); make ${dataDir} a folder this process may write to.`,
    ])
  }
  return readSecret(file) ?? refuse(file, 'has gone again while it was read; start once more')
}

function generateSecret(file: string, dataDir: string): void {
  const draft = `${file}.${process.pid}.${randomBytes(6).toString('hex')}`
  try {
    const handle = openSync(draft, 'wx', 0o600)
    try {
      writeFileSync(handle, `${randomBytes(32).toString('hex')}\n`)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    try {
      // Creating a link is atomic and, unlike a rename, never replaces the secret of another process.
      linkSync(draft, file)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  } finally {
    rmSync(draft, { force: true })
  }
  // Without this, a power failure could lose the file but keep rows that were sealed with the secret.
  syncFolder(dataDir)
}

function readSecret(file: string): string | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    return refuse(file, `cannot be read (${codeOf(error)}); give this process the right to read it`)
  }
  if (text.length < MIN_SECRET_KEY_LENGTH) {
    return refuse(
      file,
      `has ${text.length} characters; a key has at least ${MIN_SECRET_KEY_LENGTH}. Restore it from a backup; without one delete it, and issued credentials are issued anew`,
    )
  }
  return text
}

function refuse(file: string, fault: string): never {
  throw new ConfigError([`${file} ${fault}.`])
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
}
