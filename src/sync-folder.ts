import { closeSync, fsyncSync, openSync } from 'node:fs'

/** The names in a folder, too, are lost with the power unless it is flushed: a file that was saved could be gone. */
export function syncFolder(folder: string): void {
  // Windows cannot open a folder, and keeps names in its journal anyway.
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
