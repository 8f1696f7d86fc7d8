import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { TRANSFER_TOPIC } from '../chain/erc20.ts'
import type { Address, Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { railId } from '../rules/rail-id.ts'
import type { LedgerEntry } from './ledger-index.ts'
import { reconcile } from './reconcile.ts'

const base = findNetwork('base')!
const rail = railId(base, 'exact')
const seller = `0x${'5'.repeat(40)}` as Address
const refunder = `0x${'6'.repeat(40)}` as Address
const buyer = `0x${'b'.repeat(40)}` as Address
const hash = (digit: string) => `0x${digit.repeat(64)}` as Hex
const hex = (number: number) => `0x${number.toString(16)}`
const word = (address: Address) => `0x${'0'.repeat(24)}${address.slice(2)}`

const PAYMENTS = hash('a')
const REFUNDS = hash('f')

interface Transfer {
  txHash: Hex
  logIndex: number
  from: Address
  to: Address
}

/** A node whose chain has these transfers of $1.00, each by a plain `transfer`. */
async function nodeWith(transfers: readonly Transfer[]): Promise<string> {
  const logs = transfers.map(({ txHash, logIndex, from, to }) => ({
    ...{ transactionHash: txHash, logIndex: hex(logIndex), blockNumber: '0x64', blockHash: hash('b') },
    ...{ removed: false, address: base.token.address, topics: [TRANSFER_TOPIC, word(from), word(to)] },
    data: `0x${(1_000_000).toString(16).padStart(64, '0')}`,
  }))
  const head = { number: '0x3e8', hash: hash('c'), parentHash: hash('d'), timestamp: '0x69000000' }
  const logsLike = (filter: ReadonlyArray<null | string | string[]>) =>
    logs.filter(({ topics }) =>
      filter.every((wanted, at) => wanted === null || [wanted].flat().includes(topics[at]!)),
    )
  const answerTo = ({ id, method, params }: { id: number; method: string; params: never[] }) => {
    const [first] = params as Array<{ topics: Parameters<typeof logsLike>[0] } & string>
    const results: Record<string, () => unknown> = {
      eth_chainId: () => hex(base.chainId),
      eth_getBlockByNumber: () => ({ ...head, baseFeePerGas: '0x1' }),
      eth_getLogs: () => logsLike(first!.topics),
      eth_getTransactionReceipt: () => ({ logs: logs.filter((log) => log.transactionHash === first) }),
    }
    return { jsonrpc: '2.0', id, result: results[method]?.() ?? null }
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const piece of request) text += piece
    const asked = JSON.parse(text)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(Array.isArray(asked) ? asked.map(answerTo) : answerTo(asked)))
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A purchase for $1.00 whose payment is that log of PAYMENTS, and whose refund, if any, is one of REFUNDS. */
function sale(payer: Address, logIndex: number, state: 'DELIVERED' | 'REFUNDED'): LedgerEntry {
  const key = `payment-${logIndex}`
  const refund = {
    ...{ key, rail, movesState: true, recipient: payer, value: '1000000', phase: 'DONE' },
    ...{ fromHeight: 100, txHash: REFUNDS, reason: null },
  }
  return {
    challenge: {
      ...{ key: `http-${logIndex}`, network: base.id, rail, kind: 'plan', payTo: seller, state },
      ...{ amount: '1000000', createdAt: 0, paidAt: 0, receipt: key },
    },
    attempts: [],
    refunds: state === 'REFUNDED' ? [refund] : [],
    receipts: [
      {
        ...{ key, rail, role: 'pays', payer, value: '1000000', txHash: PAYMENTS, logIndex },
        ...{ lost: false, blockNumber: 100, fromHeight: 99 },
      },
    ],
  } as unknown as LedgerEntry
}

async function compare(sales: readonly LedgerEntry[], transfers: readonly Transfer[]) {
  const parts = {
    network: { ...base, rpcUrls: [await nodeWith(transfers)] },
    walletAddress: seller,
    refundWallet: refunder,
    async *ledger() {
      yield* sales
    },
    ...{ fromBlock: 0, nowMs: 1e12, refundMinAgeMs: 0 },
  }
  return reconcile(parts, { onEntry() {}, onBlock() {} })
}

const paid = (from: Address, logIndex: number): Transfer => ({ txHash: PAYMENTS, logIndex, from, to: seller })
const returned = (to: Address, logIndex: number): Transfer => ({
  txHash: REFUNDS,
  logIndex,
  from: refunder,
  to,
})

test.each([
  ['a buyer', buyer],
  ["the seller's wallet", seller],
  ['the refund wallet', refunder],
])(
  'a purchase by %s agrees with the chain, and so does its refund, beside that of another',
  async (_, payer) => {
    const delivered = await compare([sale(payer, 1, 'DELIVERED')], [paid(payer, 1)])
    expect(delivered).toMatchObject({ found: [], movements: { incoming: 1, outgoing: 0 } })
    const refunded = await compare(
      [sale(payer, 1, 'REFUNDED'), sale(buyer, 2, 'REFUNDED')],
      [paid(payer, 1), paid(buyer, 2), returned(payer, 3), returned(buyer, 4)],
    )
    expect(refunded).toMatchObject({ found: [], movements: { incoming: 2, outgoing: 2 } })
  },
)

test('money that the seller moves between its own wallets is no finding, and is not counted', async () => {
  const moved: Transfer = { txHash: hash('e'), logIndex: 7, from: seller, to: refunder }
  const back: Transfer = { txHash: hash('e'), logIndex: 8, from: refunder, to: seller }
  const result = await compare([sale(buyer, 1, 'DELIVERED')], [paid(buyer, 1), moved, back])
  expect(result).toMatchObject({ found: [], movements: { incoming: 1, outgoing: 0 } })
})
