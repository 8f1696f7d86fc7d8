import { expect, test } from 'vitest'
import { MAINNET, testRail } from '../../../test/engine/test-rail.ts'
import { testChallenge } from '../../../test/engine/test-rows.ts'
import { rememberNetworks } from '../../engine/books/remember-networks.ts'
import type { ReceiptRow, RefundRow } from '../../ports.ts'
import type { Network } from '../../protocol/network.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { createMemoryStore } from '../../stores/memory.ts'
import { csvField, exportSales } from './export-sales.ts'

test.each([
  ['=HYPERLINK("http://evil")', '"\'=HYPERLINK(""http://evil"")"'],
  ['+1', "'+1"],
  ['-1', "'-1"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\t=1', '\\u0009=1'],
  [' =1', " '=1"],
  ['x;=1+1', "x;'=1+1"],
  ['x; @SUM(A1);-2', "x; '@SUM(A1);'-2"],
  ['a;"=1+1;b', '"a;""\'=1+1;b"'],
  ['a; "" @SUM(A1)', '"a; """" \'@SUM(A1)"'],
  ['"=1', '"""\'=1"'],
  ['a;b', 'a;b'],
  ['\u001b]0;owned\u0007', '\\u001b]0;owned\\u0007'],
  ['a\u0000b\u009b', 'a\\u0000b\\u009b'],
  ['＝1', "'＝1"],
  ['a,b', '"a,b"'],
  ['say "hi"', '"say ""hi"""'],
  ['two\r\nlines', 'two\\u000d\\u000alines'],
  ['0xabc', '0xabc'],
])('%j is written %s', (text, field) => {
  expect(csvField(text)).toBe(field)
})

test('a missing value is an empty field, and a flag is true or false', () => {
  expect([csvField(null), csvField(true)]).toEqual(['', 'true'])
})

test('every sale names its token, and its transactions on the explorers of their own networks', async () => {
  const [base, polygon] = [MAINNET, { ...findNetwork('polygon')!, explorerTxUrl: 'https://mine.example/tx/' }]
  const [first, second] = [testRail({ network: base }), testRail({ network: polygon })]
  const row = testChallenge({ key: 'http-1', amount: '1000000', state: 'DELIVERED' }, { rail: first })
  const money = { version: 0, ref: 'http-1', dueAt: null, challengeId: 'http-1', value: '1000000' }
  const store = createMemoryStore()
  await store.commit({
    puts: [
      { table: 'challenges', row },
      {
        table: 'receipts',
        row: { ...money, key: 'a', rail: first.id, txHash: '0xaa' } as unknown as ReceiptRow,
      },
      {
        table: 'receipts',
        row: { ...money, key: 'b', rail: second.id, txHash: '0xbb' } as unknown as ReceiptRow,
      },
      {
        table: 'refunds',
        row: { ...money, key: 'b', rail: second.id, txHash: '0xcc', phase: 'DONE' } as unknown as RefundRow,
      },
    ],
    audit: [
      {
        ...{ at: 5, challengeId: 'http-1', requestId: 'r', event: 'paid', actor: 'gateway' },
        ...{ fromState: 'PENDING', toState: 'PAID' },
      },
    ],
  })
  const chunks: string[] = []
  for await (const chunk of exportSales(store, 'jsonl', {}, [polygon])) chunks.push(chunk)
  expect(JSON.parse(chunks.join(''))).toMatchObject({
    ...{ network: 'eip155:8453', testnet: false, token: 'USDC', receivedUsd: '2.00', refundedUsd: '1.00' },
    txUrls: 'https://basescan.org/tx/0xaa https://mine.example/tx/0xbb',
    refundTxUrls: 'https://mine.example/tx/0xcc',
  })
})

const ROLLUP: Network = {
  ...MAINNET,
  ...{ id: 'eip155:4663', chainId: 4663, word: 'rollup', explorerTxUrl: 'https://scan.example/tx/' },
  token: { ...MAINNET.token, address: `0x${'2a'.repeat(20)}`, symbol: 'DAI', decimals: 18 },
}

/** A dollar, paid on this network. */
async function storeWithSale(network: Network) {
  const rail = testRail({ network })
  const key = 'http-1'
  const row = testChallenge({ key, amount: '1000000', state: 'DELIVERED' }, { rail })
  const value = (10n ** BigInt(network.token.decimals)).toString()
  const receipt = { key: 'a', version: 0, ref: key, dueAt: null, challengeId: key, rail: rail.id, value }
  const store = createMemoryStore()
  await store.commit({
    puts: [
      { table: 'challenges', row },
      { table: 'receipts', row: { ...receipt, role: 'pays', txHash: '0xaa' } as unknown as ReceiptRow },
    ],
    audit: [
      {
        ...{ at: 5, challengeId: key, requestId: 'r', event: 'paid', actor: 'gateway' },
        ...{ fromState: 'PENDING', toState: 'PAID' },
      },
    ],
  })
  return store
}

async function onlyLine(store: Awaited<ReturnType<typeof storeWithSale>>, networks: readonly Network[] = []) {
  const chunks: string[] = []
  for await (const chunk of exportSales(store, 'jsonl', {}, networks)) chunks.push(chunk)
  return JSON.parse(chunks.join(''))
}

test('a network that the seller described is known in exports after it is taken away', async () => {
  const store = await storeWithSale(ROLLUP)
  await rememberNetworks(store, [ROLLUP])
  expect(await onlyLine(store)).toMatchObject({
    ...{ priceUsd: '1.00', receivedMicro: '1000000', receivedUsd: '1.00', refundedUsd: '0.00' },
    ...{ network: 'eip155:4663', testnet: false, token: 'DAI', txUrls: 'https://scan.example/tx/0xaa' },
  })
})

test('a network that got another token keeps the decimals of the former one in exports', async () => {
  const store = await storeWithSale(ROLLUP)
  await rememberNetworks(store, [ROLLUP])
  const now = { ...ROLLUP, token: { ...MAINNET.token, address: `0x${'3b'.repeat(20)}` as const } }
  expect(await onlyLine(store, [now])).toMatchObject({ receivedUsd: '1.00', token: 'DAI' })
})

test('of a network that nobody knows, an export leaves open what cannot be told', async () => {
  expect(await onlyLine(await storeWithSale(ROLLUP))).toMatchObject({
    ...{ priceUsd: '1.00', receivedMicro: null, receivedUsd: null, refundedUsd: '0.00' },
    ...{ testnet: null, token: null, txHashes: '0xaa' },
  })
})
