import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Backstage } from '../backstage.ts'
import { inspect } from '../engine/challenge/inspect.ts'
import type { Store, StoreChoice } from '../ports.ts'
import type { Network } from '../protocol/network.ts'
import { withCurrentRows } from '../stores/current-rows.ts'
import { openStore } from '../stores/open-store.ts'
import { copySqliteInUse } from '../stores/sql/copy-in-use.ts'

/** The records of a gateway that runs elsewhere, to be read and never changed. */
export interface Books {
  backstage: Backstage
  close(): Promise<void>
}

/**
 * Opens the records without a gateway, and so without its catalog and keys. An embedded store belongs to the process that
 * has it open, so what is read is a copy of it as it is now.
 */
export async function openBooks(choice: StoreChoice, networks: readonly Network[]): Promise<Books> {
  const { store: opened, close } = await openForReading(choice)
  const store = withCurrentRows(opened)
  return {
    backstage: {
      networks,
      store,
      inspect: (challengeId) => inspect({ store }, challengeId),
      rails: () => [],
      balances: async () => [],
      watchAlerts() {},
    },
    close,
  }
}

async function openForReading(choice: StoreChoice): Promise<{ store: Store; close(): Promise<void> }> {
  const silent = { raise() {} }
  if (choice.kind !== 'embedded') {
    const lenient = choice.kind === 'redis' ? { ...choice, mustBeDurable: false } : choice
    const store = await openStore(lenient, silent)
    return { store, close: () => store.close() }
  }
  const folder = mkdtempSync(join(tmpdir(), 'paystile-books-'))
  const remove = () => rmSync(folder, { recursive: true, force: true })
  try {
    copySqliteInUse(join(choice.dataDir, 'paystile.db'), join(folder, 'paystile.db'))
    const store = await openStore({ kind: 'embedded', dataDir: folder }, silent)
    return { store, close: () => store.close().finally(remove) }
  } catch (error) {
    remove()
    throw error
  }
}
