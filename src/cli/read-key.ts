import { readFileSync, statSync } from 'node:fs'
import type { Env } from '../config/read-variable.ts'
import type { Hex } from '../protocol/hex.ts'

/** The private key that pays, from a file or from BUYER_PRIVATE_KEY. What is wrong is added to the faults, never the key itself. */
export function readKey(env: Env, file: string | undefined, faults: string[]): Hex | undefined {
  let key: string | undefined
  try {
    key = (file === undefined ? env.BUYER_PRIVATE_KEY : readFileSync(file, 'utf8'))?.trim()
  } catch (cause) {
    faults.push(`--key-file ${file} cannot be read: ${cause instanceof Error ? cause.message : cause}`)
    return undefined
  }
  if (key === undefined || (file === undefined && key === '')) {
    faults.push('There is no key to pay with: set BUYER_PRIVATE_KEY, or name a file by --key-file.')
    return undefined
  }
  const hex = key.startsWith('0x') ? key : `0x${key}`
  if (/^0x[0-9a-fA-F]{64}$/.test(hex)) {
    if (file !== undefined) refuseSharedKey(file, faults)
    return hex as Hex
  }
  const place = file === undefined ? 'BUYER_PRIVATE_KEY' : file
  faults.push(`${place} is no private key: expected 64 hexadecimal digits.`)
  return undefined
}

/** The key that pays is its owner's alone. Windows has no such modes. */
function refuseSharedKey(file: string, faults: string[]): void {
  if (process.platform === 'win32') return
  const found = statSync(file)
  const mode = found.mode & 0o777
  if (!found.isFile() || (mode & 0o077) === 0) return
  faults.push(`--key-file ${file} can be read by others (mode 0${mode.toString(8)}): chmod 600 ${file}`)
}
