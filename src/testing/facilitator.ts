import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { type Address, bytesToHex, type Hex } from 'viem'
import type { DevChain } from './dev-chain.ts'
import {
  createFaultPlan,
  type Fault,
  type FaultPlan,
  type FaultyOperation,
  type PlannedFault,
} from './facilitator-faults.ts'
import { createOfficialFacilitator } from './facilitator-scheme.ts'

/** A `transferWithAuthorization` that the facilitator has sent, mined or not. */
export type Broadcast = { nonce: Hex; hash: Hex }

/**
 * A running facilitator, and what it has sent.
 *
 * @example
 * function failOnce(facilitator: TestFacilitator): void {
 *   facilitator.faults.next('settle', 'error-500')
 * }
 */
export type TestFacilitator = {
  url: string
  /** The account that pays the gas. */
  address: Address
  faults: FaultPlan
  /** Requests received, faulty ones included. */
  calls: Record<FaultyOperation, number>
  /** Every transferWithAuthorization that it sent, in order. */
  broadcasts: readonly Broadcast[]
  stop(): Promise<void>
}

type Task = { payload: PaymentPayload; requirements: PaymentRequirements }

/**
 * Starts a real x402 facilitator for one dev chain or several: the official one behind `POST /verify`, `POST /settle` and
 * `GET /supported`, which can be told to fail. It refuses payments on any other network.
 *
 * @example
 * import { startDevChain } from 'paystile/testing'
 *
 * const facilitator = await startFacilitator({ chain: await startDevChain() })
 * facilitator.faults.next('settle', 'broadcast-then-500')
 */
export async function startFacilitator({
  chain,
  chains = chain ? [chain] : [],
  privateKey,
  port = 0,
  fault,
  walletFactories,
}: {
  chain?: DevChain
  /** Instead of `chain`: several, each with its own chain id. */
  chains?: readonly DevChain[]
  /** Of the account that pays the gas, on each chain. Default: `account(48)`. */
  privateKey?: Hex
  port?: number
  /** A fault for every settlement, until `faults.clear()`. */
  fault?: Fault
  /** Factories whose wallets it deploys when they pay (EIP-6492). Default: none. */
  walletFactories?: readonly Hex[]
}): Promise<TestFacilitator> {
  const [first, ...further] = chains
  if (!first) throw new Error('startFacilitator: give a chain, or chains.')
  const networks = new Set<string>(chains.map(({ network }) => network))
  const faults = createFaultPlan()
  if (fault) faults.always('settle', fault)
  const calls = { verify: 0, settle: 0, supported: 0 }
  const broadcasts: Broadcast[] = []
  const listeners = new Map<string, () => void>()
  const { official, account, sendUnrelated } = await createOfficialFacilitator(
    [first, ...further],
    privateKey ?? first.account(48).privateKey,
    (nonce, hash) => {
      broadcasts.push({ nonce, hash })
      listeners.get(nonce.toLowerCase())?.()
    },
    walletFactories,
  )

  function work(operation: FaultyOperation, { payload, requirements }: Task): Promise<unknown> {
    const elsewhere = operation !== 'supported' && !networks.has(String(requirements?.network))
    if (elsewhere) {
      return Promise.resolve(verdict(operation, { payload, requirements }, false, '', 'invalid_network'))
    }
    if (operation === 'verify') return official.verify(payload, requirements)
    if (operation === 'settle') return official.settle(payload, requirements)
    return Promise.resolve(official.getSupported())
  }

  // Settles, but only until the transaction is sent; the receipt may be long in coming. A payment that the
  // official facilitator refuses is never sent: then the fault happens without it.
  async function broadcast(task: Task): Promise<void> {
    const nonce = nonceOf(task)
    const sent = new Promise<void>((resolve) => listeners.set(nonce, resolve))
    const settled = work('settle', task).then(
      () => {},
      () => {},
    )
    await Promise.race([sent, settled])
    listeners.delete(nonce)
  }

  async function fail(
    operation: FaultyOperation,
    planned: PlannedFault,
    task: Task,
    response: ServerResponse,
  ) {
    const { fault, options } = planned
    if (fault.startsWith('broadcast-then-')) await broadcast(task)
    switch (fault) {
      case 'hang':
      case 'broadcast-then-hang':
        return
      case 'disconnect':
      case 'broadcast-then-disconnect':
        response.destroy()
        return
      case 'error-500':
      case 'broadcast-then-500':
        return reply(response, 500, { error: 'internal error (planned by the test)' })
      case 'refuse':
      case 'broadcast-then-refuse':
        return reply(response, 200, verdict(operation, task, false, '', options.reason))
      case 'late':
        await (options.ms === undefined
          ? faults.untilReleased()
          : delay(options.ms, undefined, { ref: false }))
        return reply(response, 200, await work(operation, task))
      case 'lie-success':
        return reply(response, 200, verdict(operation, task, true, bytesToHex(randomBytes(32))))
      case 'other-hash': {
        const hash = options.hash ?? broadcasts.at(-1)?.hash ?? (await sendUnrelated())
        return reply(response, 200, verdict(operation, task, true, hash))
      }
      case 'garbage':
        return send(response, 'application/json', [Buffer.from('{"success":tru\u0000\ufffd')])
      case 'html':
        return send(response, 'text/html', [Buffer.from('<!doctype html><title>Bad Gateway</title>')])
      case 'huge':
        return send(response, 'application/json', hugeAnswer(options.bytes ?? 32 * 1024 * 1024))
      default:
        fault satisfies never
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const operation = operationOf(request)
    if (!operation) return reply(response, 404, { error: `no ${request.method} ${request.url} here` })
    calls[operation] += 1
    const planned = faults.take(operation)
    const task = await readTask(request)
    if (planned) return fail(operation, planned, task, response)
    return reply(response, 200, await work(operation, task))
  }

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => reply(response, 500, { error: String(error) }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    address: account.address,
    faults,
    calls,
    broadcasts,
    async stop() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

function operationOf({ method, url }: IncomingMessage): FaultyOperation | undefined {
  if (method === 'POST' && url === '/verify') return 'verify'
  if (method === 'POST' && url === '/settle') return 'settle'
  if (method === 'GET' && url === '/supported') return 'supported'
  return undefined
}

async function readTask(request: IncomingMessage): Promise<Task> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const { paymentPayload, paymentRequirements } = JSON.parse(Buffer.concat(chunks).toString() || '{}')
  return { payload: paymentPayload, requirements: paymentRequirements }
}

function authorizationOf({ payload }: Task): { from?: string; nonce?: string } {
  return (payload?.payload?.authorization ?? {}) as { from?: string; nonce?: string }
}

const nonceOf = (task: Task) => String(authorizationOf(task).nonce).toLowerCase()

function verdict(
  operation: FaultyOperation,
  task: Task,
  yes: boolean,
  transaction: string,
  refusal = 'refused_by_test',
): unknown {
  const payer = authorizationOf(task).from
  const reason = yes ? undefined : refusal
  return operation === 'verify'
    ? { isValid: yes, invalidReason: reason, payer }
    : { success: yes, errorReason: reason, transaction, network: task.requirements?.network, payer }
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  if (response.destroyed || response.headersSent) return
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

function* hugeAnswer(bytes: number): Generator<Buffer> {
  const filler = Buffer.alloc(64 * 1024, 'a')
  yield Buffer.from('{"success":true,"filler":"')
  for (let sent = 0; sent < bytes; sent += filler.length) yield filler
  yield Buffer.from('"}')
}

async function send(response: ServerResponse, type: string, chunks: Iterable<Buffer>): Promise<void> {
  response.writeHead(200, { 'content-type': type })
  // A reader that leaves early is what these answers are for.
  await pipeline(Readable.from(chunks), response).catch(() => {})
}
