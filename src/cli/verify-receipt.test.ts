import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { receiptKeys } from '../delivery/receipt-keys.ts'
import { parseSecretKeys } from '../delivery/secret-keys.ts'
import { createReceiptSigner, didDocument } from '../delivery/sign-receipts.ts'
import type { Terminal } from './terminal.ts'
import { verifyReceipts } from './verify-receipt.ts'

const keys = receiptKeys(parseSecretKeys('a secret of thirty-two or more characters').receipts, null)
const baseUrl = 'https://shop.example'
const jws = createReceiptSigner(keys, baseUrl).sign({
  ...{ version: 1, network: 'eip155:84532', resourceUrl: `${baseUrl}/x402/access`, payer: '0x1' },
  ...{ issuedAt: 1_700_000_000, transaction: `0x${'22'.repeat(32)}` },
})
const line = `${'x'.repeat(1023)}\n`
let folder: string
let document: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'receipts-'))
  document = join(folder, 'did.json')
  await writeFile(document, JSON.stringify(didDocument(keys, baseUrl)))
})
afterAll(() => rm(folder, { recursive: true }))

const verify = (file: string, input: Readable = Readable.from([])) =>
  verifyReceipts({ input } as unknown as Terminal, file, document)

test('reads the first 256 KiB of a file, and no more', async () => {
  const file = join(folder, 'receipt')
  await writeFile(file, `${jws}\n${line.repeat(1024)}`)
  expect(await verify(file)).toMatchObject({ failed: false })
  await writeFile(file, `${line.repeat(256)}${jws}\n`)
  await expect(verify(file)).rejects.toThrow('holds no signed receipt')
})

test('reads no more of standard input than that either, even if it never ends', async () => {
  let sent = 0
  const endless = Readable.from(
    (function* () {
      yield Buffer.from(`${jws}\n`)
      for (;;) {
        sent += line.length
        yield Buffer.from(line)
      }
    })(),
  )
  expect(await verify('-', endless)).toMatchObject({ failed: false })
  expect(sent).toBeLessThan(512 * 1024)
})

test('a file that cannot be read is named, with the reason', async () => {
  await expect(verify(join(folder, 'none'))).rejects.toThrow('none cannot be read (ENOENT)')
  await expect(verify(folder)).rejects.toThrow('cannot be read (EISDIR)')
})
