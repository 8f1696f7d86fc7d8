import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { generatePrivateKey } from 'viem/accounts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { encodeJson } from '../../src/protocol/base64.ts'
import { findNetwork } from '../../src/protocol/networks.ts'
import type { Offer } from '../../src/transports/onboarding/offer.ts'
import { payCode } from '../../src/transports/onboarding/skill-code.ts'
import { blocksOf } from './documented-commands.ts'

const network = findNetwork('testnet')!
const payTo = `0x${'22'.repeat(20)}` as const
const required = encodeJson({
  x402Version: 2,
  resource: { url: 'x' },
  accepts: [
    {
      ...{ scheme: 'exact', network: network.id, asset: network.token.address, amount: '10000', payTo },
      extra: network.token.domain,
    },
  ],
})

let folder: string
let seller: Server
let url: string
/** When each payment came, and which it was. */
let sent: Array<{ atMs: number; payment: string }>

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-retry-'))
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  sent = []
  seller = createServer(({ headers }, response) => {
    const payment = headers['payment-signature']
    if (payment === undefined) return void response.writeHead(402, { 'payment-required': required }).end('{}')
    sent.push({ atMs: Date.now(), payment: String(payment) })
    if (sent.length > 1) return void response.end('what was bought')
    response.writeHead(503, { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() }).end()
  })
  await new Promise<void>((listening) => seller.listen(0, '127.0.0.1', listening))
  url = `http://127.0.0.1:${(seller.address() as AddressInfo).port}/`
})
afterEach(() => {
  seller.close().closeAllConnections()
  rmSync(folder, { recursive: true, force: true })
})

const CALL = `import { payFor } from './pay.mjs'
const answer = await payFor(process.argv[2], {}, { requestId: 'one', maxMicro: 10_000n })
console.log(await answer.text())`

const PYTHON = process.env.PAYSTILE_TEST_PYTHON ?? '/usr/bin/python3'

test.each<[string, () => [program: string, ...words: string[]]]>([
  [
    'docs/python.md',
    () => {
      const code = blocksOf('python.md').find(({ language }) => language === 'python')!.text
      writeFileSync(join(folder, 'buy.py'), code)
      return [PYTHON, 'buy.py', url, '0.01']
    },
  ],
  [
    'skills.md',
    () => {
      const discovery = { network: network.id, walletAddress: payTo }
      writeFileSync(join(folder, 'pay.mjs'), payCode({ networks: [network], discovery } as unknown as Offer))
      writeFileSync(join(folder, 'call.mjs'), CALL)
      return [process.execPath, 'call.mjs', url]
    },
  ],
])(
  'the code of %s waits, and sends the same payment again, where Retry-After is a date',
  async (_name, prepare) => {
    const [program, ...words] = prepare()
    const env = { BUYER_PRIVATE_KEY: generatePrivateKey() }
    const { stdout, stderr } = await promisify(execFile)(program, words, { cwd: folder, env })
    expect([stdout, stderr]).toEqual(['what was bought\n', ''])
    const [first, second] = sent
    expect(second!.payment).toBe(first!.payment)
    expect(second!.atMs - first!.atMs).toBeGreaterThan(1_000)
  },
)
