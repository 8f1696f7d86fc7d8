import { accessSync, constants, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '../errors.ts'

const { R_OK, W_OK, X_OK } = constants

/** Where payments are remembered. One that cannot be remembered could be made twice, so nothing is paid without the folder. */
export function paymentsFolder(flag: string | undefined): string {
  const folder = flag ?? join(homedir(), '.paystile', 'payments')
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, R_OK | W_OK | X_OK)
  } catch (cause) {
    throw new ConfigError([
      `--payments ${folder} is no folder that payments can be remembered in: ${reasonOf(cause)}. Nothing was paid.`,
    ])
  }
  return folder
}

function reasonOf(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException
  return code === 'EEXIST' || code === 'ENOTDIR' ? 'there is a file in its place' : message
}
