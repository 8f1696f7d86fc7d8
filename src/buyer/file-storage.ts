import { createHash, randomUUID } from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, rm, rmdir, unlink } from 'node:fs/promises'
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

const PAYMENT = /^[0-9a-f]{64}\.json$/
/** Other processes may come between two steps, but not for ever. */
const MAX_TRIES = 100

/**
 * Keeps payments in a folder, readable by its owner only: each key has a folder of its own there, with the payment in
 * it. Several processes may share it. Those of payments that are done may be deleted at any time. `spent.log` is what counts for `maxTotal`,
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
  // Earlier versions had a file of this name. It still counts; and where one of them runs beside us, it stops here.
  const placeOf = (key: string) => join(folder, `${digest(key)}.json`)
  // Named by the payment: whoever forgets it cannot take another that has been stored in its place since.
  const fileOf = (place: string, { header }: StoredPayment) => join(place, `${digest(header)}.json`)

  async function get(key: string): Promise<StoredPayment | undefined> {
    const place = placeOf(key)
    for (;;) {
      const path = await paymentIn(place)
      if (path === undefined) return undefined
      const text = await readFile(path, 'utf8').catch(unless('ENOENT'))
      // Otherwise it was forgotten meanwhile, and there may be another by now.
      if (text !== undefined) return parse(text)
    }
  }

  async function claim(key: string, payment: StoredPayment): Promise<StoredPayment> {
    const [place, draft] = [placeOf(key), join(folder, `.${randomUUID()}.tmp`)]
    await mkdir(draft, { recursive: true, mode: 0o700 })
    try {
      await writeDurably(fileOf(draft, payment), JSON.stringify(payment))
      await syncFolder(draft)
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        // A folder is never moved over one that holds something, nor over a file: of two claims exactly one wins.
        const stored = (await moveTo(place, draft)) ? payment : await get(key)
        if (stored) {
          await syncFolder(folder)
          return stored
        }
        // Windows does not replace an empty folder either. One that holds something stays.
        await rmdir(place).catch(() => {})
      }
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
    throw new Error(
      `${place} holds something else than a payment: move it away. The payment was not stored, and so not sent.`,
    )
  }

  async function forget(key: string, payment: StoredPayment): Promise<void> {
    const place = placeOf(key)
    const isEarlier = (await paymentIn(place)) === place
    if (isEarlier && (await get(key))?.header !== payment.header) return
    // What was stored since is in a folder, which is not unlinked.
    const unlinked = isEarlier ? unlink(place) : unlink(fileOf(place, payment))
    await unlinked.catch(unless('ENOENT', 'ENOTDIR', 'EISDIR', 'EPERM'))
    await rmdir(place).catch(() => {})
  }

  return {
    get,
    claim,
    forget,
    ...spendingLog(join(folder, 'spent.log')),
    credits: fileCreditLog(join(folder, 'credits.log')),
  }
}

/** The file of the payment that is stored here; undefined: there is none. */
async function paymentIn(place: string): Promise<string | undefined> {
  try {
    const name = (await readdir(place)).find((file) => PAYMENT.test(file))
    return name === undefined ? undefined : join(place, name)
  } catch (error) {
    // The file of an earlier version.
    if (codeOf(error) === 'ENOTDIR') return place
    return unless('ENOENT')(error)
  }
}

/** Moves a folder, unless something is there already. */
async function moveTo(place: string, draft: string): Promise<boolean> {
  try {
    await rename(draft, place)
    return true
  } catch (error) {
    const onWindows = process.platform === 'win32' ? ['EPERM', 'EACCES'] : []
    unless('ENOTEMPTY', 'EEXIST', 'ENOTDIR', ...onWindows)(error)
    return false
  }
}

/** A file that cannot be read may be a payment under way: continuing without it could pay twice. */
function parse(text: string): StoredPayment {
  return StoredPaymentSchema.parse(JSON.parse(text))
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/** Throws an error that has none of these codes. */
const unless =
  (...codes: string[]) =>
  (error: unknown): undefined => {
    if (!codes.includes(codeOf(error) ?? '')) throw error
  }

async function writeDurably(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
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
