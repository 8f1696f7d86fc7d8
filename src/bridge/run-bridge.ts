import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { type BuyerAccount, fileStorage } from '../buyer/index.ts'
import { dollarsToMicro, microToDollars } from '../protocol/amount.ts'
import { createBridgeServer } from './bridge-server.ts'
import { createConfirmations } from './confirmations.ts'
import { describeSpending } from './describe-spending.ts'
import { openLedger } from './ledger.ts'
import { createPurchases } from './make-purchases.ts'
import { createConnections } from './mcp-connections.ts'
import { openOrderBook } from './order-book.ts'
import { describePurchase } from './purchase.ts'
import { createSellers } from './sellers.ts'

export interface BridgeOptions {
  urls: readonly string[]
  account: BuyerAccount
  maxAmount: string
  maxTotal: string
  allowedHosts: readonly string[]
  confirm: boolean
  /** Where the ledger, the orders under way, their payments, and answers that are too long for a message are kept. */
  folder: string
  version: string
  input: Readable
  output: Writable
  /** A line for people; never on `output`. */
  say(line: string): void
}

/** What no message can hold goes into a file, and memory must hold it until then. */
const MAX_ANSWER_BYTES = 100 * 1024 * 1024
/** The answers of MCP servers are parsed as a whole, which takes many times their size. */
const MAX_TOOL_ANSWER_BYTES = 16 * 1024 * 1024
const SHOWN_PAYMENTS = 50

export const ledgerFile = (folder: string): string => join(folder, 'ledger.jsonl')

/** Serves MCP on these streams until the client closes them, and everything that was begun has an end. */
export async function runBridge(options: BridgeOptions): Promise<void> {
  const { folder, account, maxAmount, maxTotal, say, version } = options
  const ledger = openLedger(ledgerFile(folder))
  const book = openOrderBook(folder, account.address)
  const connections = createConnections(version, { maxBytes: MAX_TOOL_ANSWER_BYTES })
  const sellers = createSellers(options.urls, connections, say)
  const purchases = createPurchases({
    account,
    maxAmount,
    maxTotal,
    maxTotalMicro: dollarsToMicro(maxTotal),
    allowedHosts: options.allowedHosts,
    payments: fileStorage(join(folder, 'payments')),
    ledger,
    book,
    connections,
    maxBytes: MAX_ANSWER_BYTES,
    say,
  })

  async function spending(): Promise<string> {
    const leftMicro = dollarsToMicro(maxTotal) - (await ledger.spentTodayMicro())
    const { payments, ...today } = await describeSpending(ledger, SHOWN_PAYMENTS)
    return JSON.stringify({
      ...today,
      leftToday: microToDollars(leftMicro > 0n ? leftMicro : 0n),
      limits: { onePayment: maxAmount, oneDay: maxTotal, hosts: options.allowedHosts },
      wallet: account.address,
      // The same call answers them, or continues them.
      answersWaiting: book.answers().map(({ purchase, at }) => ({ for: describePurchase(purchase), at })),
      unfinished: book.unfinished().map(({ purchase }) => describePurchase(purchase)),
      sellers: sellers.describe(),
      payments,
    })
  }

  const { transport, whenAnswered } = tellingTransport(options.input, options.output)
  const closed = new Promise<void>((end) => {
    for (const event of ['end', 'close', 'error']) options.input.once(event, () => end())
  })
  void sellers.open()
  void purchases.finishEarlier().catch((error) => say(`earlier orders cannot be read: ${error}`))
  const confirmations = createConfirmations()
  const served = serveStdio(
    () =>
      createBridgeServer({
        ...{ version, sellers, purchases, confirmations, maxAmount, spending, whenAnswered },
        confirm: options.confirm,
        nameOf: book.nameOf,
      }),
    { transport, onerror: (error) => say(error.message) },
  )
  await closed
  await purchases.settled()
  await connections.close()
  await served.close()
}

/** An answer that was paid for is kept until it is written: until then a crash would lose it. */
function tellingTransport(input: Readable, output: Writable) {
  const transport = new StdioServerTransport(input, output)
  const waiting = new Map<string | number, () => void>()
  const send = transport.send.bind(transport)
  transport.send = async (message) => {
    await send(message)
    if (!('id' in message) || message.id === undefined || 'method' in message) return
    waiting.get(message.id)?.()
    waiting.delete(message.id)
  }
  return {
    transport,
    whenAnswered: (id: string | number, handedOver: () => void) => void waiting.set(id, handedOver),
  }
}
