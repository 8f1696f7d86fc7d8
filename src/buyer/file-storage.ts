import { createHash, randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { fileCreditLog } from './credit-log.ts'
import type { PaymentStorage, StoredPayment } from './payment-storage.ts'
import { spendingLog } from './spending-log.ts'

const StoredPaymentSchema = z.object({
  header: z.string(),
  subject: z.string(),
  network: z.string(),
  amount: z.string(),
  validBefore: z.string(),
  url: z.string().optional(),
})

/**
 * Keeps payments in a folder, one file each, readable by its owner only. Several processes may share it. Files of
 * payments that are done may be deleted at any time. `spent.log` is what counts for `maxTotal`,
 * `credits.log` has the tokens of plans that were bought.
 *
 * @example
 * import { createBuyer } from 'paystile/buyer'
 * import { privateKeyToAccount } from 'viem/accounts'
 *
 * const account = privateKeyToAccount('0x…')
 * const buyer = createBuyer({ account, maxAmount: '$1.00', storage: fileStorage('./payments') })
 */
export function fileStorage(folder: string): PaymentStorage {
  const fileOf = (key: string) => join(folder, `${createHash('sha256').update(key).digest('hex')}.json`)

  async function get(key: string): Promise<StoredPayment | undefined> {
    let text: string
    try {
      text = await readFile(fileOf(key), 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
    return parse(text)
  }

  async function claim(key: string, payment: StoredPayment): Promise<StoredPayment> {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const draft = join(folder, `.${randomUUID()}.tmp`)
    try {
      const file = await open(draft, 'wx', 0o600)
      try {
        await file.writeFile(JSON.stringify(payment))
        await file.sync()
      } finally {
        await file.close()
      }
      // Unlike a rename, a link never replaces a file: of two claims exactly one wins.
      await link(draft, fileOf(key))
      await syncFolder(folder)
      return payment
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      return (await get(key)) ?? claim(key, payment)
    } finally {
      await rm(draft, { force: true })
    }
  }

  async function forget(key: string, payment: StoredPayment): Promise<void> {
    if ((await get(key))?.header !== payment.header) return
    // Another process may have stored a new payment here since, so the removed file is checked once more.
    const taken = join(folder, `.${randomUUID()}.taken`)
    try {
      await rename(fileOf(key), taken)
      if (parse(await readFile(taken, 'utf8')).header !== payment.header) await link(taken, fileOf(key))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    } finally {
      await rm(taken, { force: true })
    }
  }

  return {
    get,
    claim,
    forget,
    ...spendingLog(join(folder, 'spent.log')),
    credits: fileCreditLog(join(folder, 'credits.log')),
  }
}

/** A file that cannot be read may be a payment under way: continuing without it could pay twice. */
function parse(text: string): StoredPayment {
  return StoredPaymentSchema.parse(JSON.parse(text))
}

/**
 * A new file name survives a power cut only once its folder is on disk too. Windows neither allows nor needs this.
 */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
