import { cpus } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeFunctionData, type Hex, parseAbi, serializeTransaction } from 'viem'
import { type DevChain, startDevChain } from '../../src/testing/dev-chain.ts'
import { runLoad, type Work } from '../load.ts'
import { buy, preparePayments } from '../payments.ts'
import { sellerOf, startOurs, type Target } from '../targets.ts'
import { machineCpuMs } from './machine-cpu.ts'

export interface WalletsSettings {
  root: string
  blockGas: number
  blockMs: number
  /** All wait in the mempool before the first block is made. */
  waiting: number
  /** Bought while blocks come at their time. */
  streamed: { count: number; concurrency: number }
  warmUp: number
}

export interface SeenBatch {
  payments: number
  gasUsed: number
}

export interface WalletsCell {
  wallets: number
  /** Payments of each block that was made for those that waited. */
  perBlock: number[]
  batches: SeenBatch[]
  streamed: { perSecond: number; perBlock: number; cpuMsEach: number; loads: StreamLoads }
}

/** How much of it was used while blocks came at their time. */
export type StreamLoads = Record<'the gas of a block' | 'an instance' | 'all cores', number>

const PAYERS = 256
const MEMPOOL_LIMIT_MS = 60_000
/** What a seller may lose patience with; here the blocks are held back on purpose. */
const SETTLE_WAIT_SECONDS = '120'

/** One instance with so many gas wallets, on blocks with a gas limit. */
export async function measureWallets(wallets: number, settings: WalletsSettings): Promise<WalletsCell> {
  const { root, blockGas, waiting, streamed, warmUp } = settings
  const chain = await startDevChain()
  let target: Target | undefined
  try {
    await chain.client.setBlockGasLimit({ gasLimit: BigInt(blockGas) })
    const count = warmUp + waiting + streamed.count
    const payments = await preparePayments(chain, sellerOf(chain), count, PAYERS)
    target = await startOurs({ chain, root, wallets, furtherEnv: { SETTLE_WAIT_SECONDS } })
    const { url, asking } = target
    let next = 0
    const work: Work = (connection) => buy(connection, asking, payments[next++]!)
    const load = async (units: number, concurrency: number) => {
      const { failed, reasons, seconds } = await runLoad(url, concurrency, { count: units }, work)
      if (failed > 0) throw new Error(`a purchase failed: ${Object.keys(reasons).join(', ')}`)
      return seconds
    }
    await load(warmUp, 64)
    await chain.setAutomine(false)
    const held = await measureHeld(chain, settings, () => load(waiting, waiting))
    const stream = await measureStream(chain, target, settings, () =>
      load(streamed.count, streamed.concurrency),
    )
    return { wallets, ...held, streamed: stream }
  } finally {
    await target?.stop()
    await chain.stop()
  }
}

/** No block is made until all payments wait for one; then as many as they need. */
async function measureHeld(
  chain: DevChain,
  { waiting, blockMs }: WalletsSettings,
  load: () => Promise<number>,
) {
  const from = await chain.client.getBlockNumber({ cacheTime: 0 })
  const loading = load()
  // A purchase that fails ends the wait.
  await Promise.race([untilWaiting(chain, waiting), loading])
  await mineUntil(blockMs, loading, () => mineKeeping(chain))
  const blocks = await blocksSince(chain, from)
  return {
    perBlock: blocks.map(({ batches }) => paymentsOf(batches)).filter((payments) => payments > 0),
    batches: blocks.flatMap(({ batches }) => batches),
  }
}

/** Blocks at their time, while buyers come and go. */
async function measureStream(
  chain: DevChain,
  target: Target,
  { blockMs, blockGas, streamed }: WalletsSettings,
  load: () => Promise<number>,
): Promise<WalletsCell['streamed']> {
  const from = await chain.client.getBlockNumber({ cacheTime: 0 })
  const before = { used: await target.usage(), machine: machineCpuMs() }
  const seconds = await mineUntil(blockMs, load(), () => chain.mine(1))
  const after = { used: await target.usage(), machine: machineCpuMs() }
  const blocks = await blocksSince(chain, from)
  const gasUsed = blocks.flatMap(({ batches }) => batches).reduce((sum, batch) => sum + batch.gasUsed, 0)
  const cpuSeconds = after.used.cpuSeconds - before.used.cpuSeconds
  return {
    perSecond: streamed.count / seconds,
    perBlock: streamed.count / blocks.length,
    cpuMsEach: (cpuSeconds * 1000) / streamed.count,
    loads: {
      'the gas of a block': gasUsed / (blocks.length * blockGas),
      'an instance': cpuSeconds / seconds,
      'all cores': (after.machine - before.machine) / (seconds * 1000 * cpus().length),
    },
  }
}

/** A block each time, until the work is over. */
async function mineUntil<T>(blockMs: number, work: Promise<T>, mine: () => Promise<void>): Promise<T> {
  let over = false
  const end = () => {
    over = true
  }
  work.then(end, end)
  while (!over) await Promise.all([mine(), sleep(blockMs)])
  return work
}

/**
 * A block, after which the mempool holds what was not in it. The local chain keeps a transaction that asks for more gas than is left, but
 * forgets those of the same account behind it, because of their nonces. A node keeps them; so they are handed in again.
 */
async function mineKeeping(chain: DevChain): Promise<void> {
  const before = await mempoolOf(chain)
  await chain.mine(1)
  const { transactions } = await chain.client.getBlock({ includeTransactions: true })
  const places = [...transactions, ...(await mempoolOf(chain))].map(placeOf)
  const forgotten = before.filter((one) => !places.includes(placeOf(one)))
  for (const { raw } of forgotten.sort((a, b) => a.nonce - b.nonce))
    await chain.client.sendRawTransaction({ serializedTransaction: raw })
}

/** One that replaces another has the same. */
const placeOf = ({ from, nonce }: { from: string; nonce: number }): string => `${from.toLowerCase()}:${nonce}`

async function untilWaiting(chain: DevChain, payments: number): Promise<void> {
  const deadline = performance.now() + MEMPOOL_LIMIT_MS
  for (;;) {
    const waiting = (await mempoolOf(chain)).reduce((sum, { input }) => sum + paymentsIn(input), 0)
    if (waiting === payments) return
    if (performance.now() > deadline) throw new Error(`${waiting} of ${payments} payments were sent`)
    await sleep(100)
  }
}

interface Waiting {
  from: string
  nonce: number
  input: Hex
  raw: Hex
}

async function mempoolOf({ client, chainId }: DevChain): Promise<Waiting[]> {
  const { pending, queued } = await client.getTxpoolContent()
  return [pending, queued]
    .flatMap((part) => Object.values(part).flatMap((byNonce) => Object.values(byNonce)))
    .map((found) => {
      const { from, to, input, r, s, yParity, ...rest } = found as typeof found & { yParity: Hex }
      const nonce = Number(rest.nonce)
      const fees = {
        maxFeePerGas: BigInt(rest.maxFeePerGas ?? 0),
        maxPriorityFeePerGas: BigInt(rest.maxPriorityFeePerGas ?? 0),
      }
      const fields = { type: 'eip1559', chainId, nonce, to, gas: BigInt(rest.gas), data: input } as const
      const raw = serializeTransaction({ ...fields, ...fees }, { r, s, yParity: Number(yParity) })
      return { from, nonce, input, raw }
    })
}

const BATCH = parseAbi([
  'function tryAggregate(bool requireSuccess, (address target, bytes callData)[] calls)',
])
const BATCH_SELECTOR = '0xbce38bd7'

/** A payment that goes alone is a call of the token itself. */
function paymentsIn(data: Hex): number {
  return data.startsWith(BATCH_SELECTOR) ? decodeFunctionData({ abi: BATCH, data }).args[1].length : 1
}

const paymentsOf = (batches: readonly SeenBatch[]): number =>
  batches.reduce((sum, { payments }) => sum + payments, 0)

async function blocksSince({ client }: DevChain, from: bigint): Promise<Array<{ batches: SeenBatch[] }>> {
  const last = await client.getBlockNumber({ cacheTime: 0 })
  const blocks: Array<{ batches: SeenBatch[] }> = []
  for (let blockNumber = from + 1n; blockNumber <= last; blockNumber++) {
    const { transactions } = await client.getBlock({ blockNumber, includeTransactions: true })
    const batches = await Promise.all(
      transactions.map(async ({ hash, input }) => {
        const { gasUsed } = await client.getTransactionReceipt({ hash })
        return { payments: paymentsIn(input), gasUsed: Number(gasUsed) }
      }),
    )
    blocks.push({ batches })
  }
  return blocks
}
