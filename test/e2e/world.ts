import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Address } from 'viem'
import type { Instruments } from '../../src/backstage.ts'
import type { GatewayOptions } from '../../src/config/options.ts'
import { createGateway, type Gateway } from '../../src/gateway.ts'
import type { AccessGrant, ChallengeStatus } from '../../src/protocol/access.ts'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { ErrorBody } from '../../src/protocol/error-codes.ts'
import type { PaymentRequired, PaymentRequirements, SettleResponse } from '../../src/protocol/payment.ts'
import { type HttpServer, serveHttp } from '../../src/server/serve-http.ts'
import { freePort } from '../../src/testing/free-port.ts'
import {
  type DevAccount,
  type DevChain,
  paymentHeader,
  signAuthorization,
  startDevChain,
  startFacilitator,
  type TestFacilitator,
} from '../../src/testing/index.ts'
import { placeSettler } from '../settlement/place-settler.ts'
import { type RemoteRpc, startRemoteRpc } from './remote-rpc.ts'
import { type RpcProxy, startRpcProxy } from './rpc-proxy.ts'
import { type ServerProcess, startServerProcess } from './world-process.ts'

export const PRICE = 1_000_000n
export const TOKEN_SECRET = 'a shared secret of more than thirty-two bytes'

export type Strategy = 'gas-wallet' | 'facilitator'

/** A chain, a gateway on it over real HTTP, and everything needed to buy there and to look at the money. */
export interface World {
  chain: DevChain
  /** Not where the gateway is a process of its own. */
  gateway: Gateway
  /** The gateway is the standalone server, in a process of its own. */
  apart: boolean
  facilitator: TestFacilitator | undefined
  proxy: RpcProxy | undefined
  remote: RemoteRpc | undefined
  baseUrl: string
  seller: DevAccount
  dataDir: string
  /** POST /x402/access. */
  access(body: unknown, headers?: Record<string, string>): Promise<Answer>
  /** POST /x402/access with a payment. */
  pay(header: string, body?: unknown): Promise<Answer>
  /** The same payload again until the answer is no longer 503. */
  payUntilDecided(header: string, body?: unknown): Promise<Answer>
  /** Asks for terms and answers the 402. */
  terms(body?: Record<string, unknown>): Promise<PaymentRequired>
  /** Signs for these terms, without sending. */
  sign(buyer: DevAccount, accepted: PaymentRequirements, overrides?: SignOverrides): Promise<string>
  /** Terms, signature, payment. */
  buy(buyer: DevAccount, body?: Record<string, unknown>): Promise<Answer>
  status(challengeId: string): Promise<ChallengeStatus>
  /** Polls until the challenge is in this state; the test's own timeout bounds it. */
  until(challengeId: string, state: ChallengeStatus['state']): Promise<ChallengeStatus>
  sellerBalance(): Promise<bigint>
  /** What the chain logged between this buyer and the seller, in micro-units, oldest first. */
  flows(buyer: { address: Address }): Promise<{ paid: bigint[]; refunded: bigint[] }>
  /** Balances now; `changes` answers what everybody has gained or lost since. */
  ledger(
    ...buyers: Array<{ address: Address }>
  ): Promise<{ changes(): Promise<{ seller: bigint; buyers: bigint[] }> }>
  /** The alerts to the operator, oldest first. */
  alerts: Array<{ kind: string; message: string }>
  /** Memory of the process that the gateway runs in. */
  rssBytes(): number
  /** Closes and opens the gateway again on the same data. */
  restart(options?: Partial<GatewayOptions>): Promise<void>
  stop(): Promise<void>
}

export type SignOverrides = Parameters<typeof signAuthorization>[0]['overrides']

export interface Answer {
  status: number
  headers: Headers
  /** The fields of every kind of answer; a test looks at those it expects. */
  body: Partial<Omit<AccessGrant, 'type'> & Omit<ErrorBody, 'type'> & PaymentRequired> & {
    type?: string
    extensions?: unknown
  }
  receipt: SettleResponse | undefined
}

export { freePort }

/** Looks again and again until the answer is truthy; the test's own timeout bounds it. */
export async function eventually<T>(
  look: () => Promise<T> | T,
): Promise<Exclude<T, false | undefined | null>> {
  for (;;) {
    const found = await look()
    if (found) return found as Exclude<T, false | undefined | null>
    await new Promise((turn) => setTimeout(turn, 25))
  }
}

/** Turns an HTTP response into what tests look at. */
export async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text()
  const receipt = response.headers.get('payment-response')
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? {} : JSON.parse(text),
    receipt: receipt === null ? undefined : (decodeJsonObject(receipt) as unknown as SettleResponse),
  }
}

export async function startWorld(
  settings: {
    strategy?: Strategy
    /** The chain has the settler contract, and batches go to it. */
    settler?: boolean
    store?: 'memory' | 'embedded'
    blockTimeSeconds?: number
    /** The gateway alone reaches the chain through `world.proxy`, which can be cut. */
    proxied?: boolean
    /** The gateway alone reaches the chain through `world.remote`, which is slow, busy or lies. */
    remote?: Parameters<typeof startRemoteRpc>[1]
    options?: Partial<GatewayOptions>
    /** Where the gateway is mounted, for example `/pay`. Default: the root. */
    basePath?: string
    /** Watches the gateway. */
    instruments?: Instruments
    /**
     * Runs the standalone server as a process of its own. Default: what PAYSTILE_WORLD=process says, unless the gateway
     * is watched or served some other way.
     */
    process?: boolean
    /** Serves the gateway some other way than by `serveHttp`. */
    serve?: (gateway: Gateway, port: number) => Promise<{ close(): Promise<void> }>
  } = {},
): Promise<World> {
  const { strategy = 'gas-wallet', store = 'memory', blockTimeSeconds } = settings
  const chain = await startDevChain({ ...(blockTimeSeconds && { blockTimeSeconds }) })
  if (settings.settler) await placeSettler(chain)
  const facilitator = strategy === 'facilitator' ? await startFacilitator({ chain }) : undefined
  const proxy = settings.proxied ? await startRpcProxy(chain.rpcUrl) : undefined
  const remote = settings.remote && (await startRemoteRpc(chain.rpcUrl, settings.remote))
  const seller = chain.account(0)
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-e2e-'))
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}${settings.basePath ?? ''}`
  const alerts: World['alerts'] = []
  const optionsOf = (more: Partial<GatewayOptions>): GatewayOptions => ({
    walletAddress: seller.address,
    network: 'testnet',
    baseUrl,
    rpcUrl: proxy?.url ?? remote?.url ?? chain.rpcUrl,
    plans: [
      { planId: 'basic', unitAmount: '$1.00', description: 'One hour of everything' },
      { planId: 'pro', unitAmount: '$2.50' },
    ],
    ...(facilitator
      ? { facilitatorUrl: facilitator.url }
      : { gasWalletPrivateKey: chain.account(1).privateKey }),
    ...(settings.settler && { settlerContract: true }),
    refundWalletPrivateKey: seller.privateKey,
    tokenSecret: TOKEN_SECRET,
    store: store === 'memory' ? 'memory' : { dataDir },
    pollIntervalMs: 25,
    refundIntervalSeconds: 1,
    rateLimitPerMinute: 0,
    onAlert: (kind, message) => alerts.push({ kind, message }),
    ...settings.options,
    ...more,
  })
  const wanted = process.env.PAYSTILE_WORLD === 'process' && !settings.serve && !settings.instruments
  const apart = settings.process ?? wanted
  let gateway: Gateway | undefined
  let server: Pick<HttpServer, 'close'> | ServerProcess
  const open = async (more: Partial<GatewayOptions> = {}) => {
    if (apart) {
      server = await startServerProcess(optionsOf(more), { port, dataDir })
      return
    }
    gateway = await createGateway(optionsOf(more), {}, settings.instruments)
    server = settings.serve
      ? await settings.serve(gateway, port)
      : await serveHttp({ handler: gateway.fetch, port, host: '127.0.0.1' })
  }
  const close = async () => {
    await server.close()
    await gateway?.close()
  }
  await open()
  const world: World = {
    chain,
    get gateway() {
      if (!gateway) throw new Error('this gateway is a process of its own; reach it at baseUrl')
      return gateway
    },
    apart,
    rssBytes: () => ('rssBytes' in server ? server.rssBytes() : process.memoryUsage().rss),
    facilitator,
    proxy,
    remote,
    baseUrl,
    seller,
    dataDir,
    alerts,
    async access(body, headers = {}) {
      const response = await fetch(`${baseUrl}/x402/access`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      })
      return answerOf(response)
    },
    pay: (header, body = {}) => world.access(body, { 'payment-signature': header }),
    payUntilDecided: (header, body) =>
      eventually(async () => {
        const answer = await world.pay(header, body)
        return answer.status !== 503 && answer
      }),
    async terms(body = { planId: 'basic' }) {
      const { status, headers, body: answer } = await world.access(body)
      if (status !== 402) throw new Error(`expected 402, got ${status}: ${JSON.stringify(answer)}`)
      return decodeJsonObject(headers.get('payment-required') ?? '') as unknown as PaymentRequired
    },
    async sign(buyer, accepted, overrides) {
      const signed = await signAuthorization({
        account: buyer.account,
        requirements: accepted,
        ...(overrides && { overrides }),
      })
      return paymentHeader({ accepted, ...signed })
    },
    async buy(buyer, body = { planId: 'basic' }) {
      const required = await world.terms(body)
      const header = await world.sign(buyer, required.accepts[0]!)
      return world.pay(header, body)
    },
    async status(challengeId) {
      const response = await fetch(`${baseUrl}/x402/challenges/${challengeId}`)
      return (await response.json()) as ChallengeStatus
    },
    async until(challengeId, state) {
      for (;;) {
        const found = await world.status(challengeId)
        if (found.state === state) return found
        // Finality needs blocks, and an idle test chain makes none.
        await chain.mine(1)
        await new Promise((turn) => setTimeout(turn, 100))
      }
    },
    sellerBalance: () => chain.balanceOf(seller.address),
    async flows({ address }) {
      const between = async (from: Address, to: Address) => {
        const transfers = await chain.transfersTo(to)
        return transfers
          .filter((one) => one.from.toLowerCase() === from.toLowerCase())
          .map(({ value }) => value)
      }
      return {
        paid: await between(address, seller.address),
        refunded: await between(seller.address, address),
      }
    },
    async ledger(...buyers) {
      const read = () => Promise.all([seller, ...buyers].map(({ address }) => chain.balanceOf(address)))
      const before = await read()
      return {
        async changes() {
          const [sellerGain = 0n, ...gains] = (await read()).map((now, index) => now - before[index]!)
          return { seller: sellerGain, buyers: gains }
        },
      }
    },
    async restart(more) {
      await close()
      await open(more)
      // The client's pooled connections ended with the old server; it must notice before a test uses one.
      await eventually(() =>
        fetch(`${baseUrl}/health`).then(
          ({ ok }) => ok,
          () => false,
        ),
      )
    },
    async stop() {
      await close()
      await facilitator?.stop()
      await proxy?.stop()
      await remote?.stop()
      await chain.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
  return world
}
