import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJsonObject } from '../../src/protocol/base64.ts'
import type { PaymentRequired, PaymentRequirements } from '../../src/protocol/payment.ts'
import {
  type DevAccount,
  type DevChain,
  paymentHeader,
  signAuthorization,
  startDevChain,
} from '../../src/testing/index.ts'
import { type Answer, answerOf, freePort } from '../e2e/world.ts'
import { SERVER_PROGRAM } from '../server-program.ts'

export const PRICE = 1_000_000n

/** Local chains with these ids, each with the token at its real address and the same accounts. */
export function startChains(...chainIds: number[]): Promise<DevChain[]> {
  return Promise.all(chainIds.map((chainId) => startDevChain({ chainId })))
}

/** The environment of a shop that is paid on all of these chains. The first account is the seller, the second pays gas. */
export function shopEnv(chains: readonly DevChain[], more: Record<string, string> = {}): NodeJS.ProcessEnv {
  const [first] = chains
  const seller = first!.account(0)
  return {
    PATH: process.env.PATH,
    SVC_NETWORK: chains.map(({ network }) => network).join(','),
    ...Object.fromEntries(chains.map(({ chainId, rpcUrl }) => [`RPC_URL_${chainId}`, rpcUrl])),
    SVC_WALLET_ADDRESS: seller.address,
    GAS_WALLET_PRIVATE_KEY: first!.account(1).privateKey,
    REFUND_WALLET_PRIVATE_KEY: seller.privateKey,
    PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
    TOKEN_SECRET: 'a shared secret of more than thirty-two bytes',
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    SVC_SECRET_KEY: 'one-secret-for-all-lives-of-this-shop',
    SVC_MANAGED_INFRA: 'none',
    POLL_INTERVAL_MS: '100',
    SETTLE_WAIT_SECONDS: '10',
    REFUND_INTERVAL_SECONDS: '1',
    REFUND_MIN_AGE_SECONDS: '0',
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
    ...more,
  }
}

/** The standalone server in a process that can be killed and started again. */
export interface Shop {
  url: string
  dataDir: string
  /** What it wrote so far, in all its lives. */
  said(): string
  /** Ends it without warning and starts it again. */
  kill(): Promise<void>
  stop(): Promise<void>
}

export async function startShop(env: NodeJS.ProcessEnv): Promise<Shop> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const dataDir = await mkdtemp(join(tmpdir(), 'paystile-networks-'))
  let said = ''
  let child: ChildProcess

  async function start(): Promise<void> {
    const born = spawn(process.execPath, [SERVER_PROGRAM, 'serve'], {
      env: { DATA_DIR: dataDir, BASE_URL: url, ...env, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    child = born
    for (const output of [born.stdout, born.stderr]) {
      output.on('data', (chunk: unknown) => {
        said += String(chunk)
      })
    }
    while (!(await fetch(`${url}/health`).catch(() => undefined))?.ok) {
      if (born.exitCode !== null) throw new Error(`the server ended with ${born.exitCode}: ${said}`)
      await turn(50)
    }
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((exit) => child.once('exit', exit))
    child.kill(signal)
    await gone
  }

  await start()
  return {
    url,
    dataDir,
    said: () => said,
    async kill() {
      await end('SIGKILL')
      await start()
    },
    async stop() {
      await end('SIGTERM')
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

export const turn = (ms: number) => new Promise((resume) => setTimeout(resume, ms))

/** One POST to /x402/access; undefined if the connection broke. */
export async function access(url: string, body: object, header?: string): Promise<Answer | undefined> {
  const response = await fetch(`${url}/x402/access`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(header && { 'payment-signature': header }) },
    body: JSON.stringify(body),
  }).catch(() => undefined)
  return response && answerOf(response).catch(() => undefined)
}

/** The same request again until the answer is one of these; 500 and 503 say "ask again", all others are a failure. */
export async function askUntil(
  url: string,
  body: object,
  wanted: readonly number[],
  header?: string,
): Promise<Answer> {
  for (;;) {
    const answer = await access(url, body, header)
    if (answer && wanted.includes(answer.status)) return answer
    if (answer && ![500, 503].includes(answer.status))
      throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
    await turn(100)
  }
}

export function termsOf({ headers }: Answer): PaymentRequired {
  return decodeJsonObject(headers.get('payment-required') ?? '') as unknown as PaymentRequired
}

export function entryOn({ accepts }: PaymentRequired, { network }: DevChain): PaymentRequirements {
  const entry = accepts.find((one) => one.network === network)
  if (!entry) throw new Error(`${network} is not offered: ${accepts.map((one) => one.network).join(', ')}`)
  return entry
}

export async function signFor(buyer: DevAccount, accepted: PaymentRequirements): Promise<string> {
  const signed = await signAuthorization({ account: buyer.account, requirements: accepted })
  return paymentHeader({ accepted, ...signed })
}

/** What one buyer paid the seller on a chain, and got back there. */
export async function flowsOn(chain: DevChain, buyer: DevAccount): Promise<{ paid: bigint; back: bigint }> {
  return (await flowsOf(chain, [buyer]))[0]!
}

/** The same for many buyers, from one reading of what the chain logged to the seller. */
export async function flowsOf(chain: DevChain, buyers: readonly DevAccount[]) {
  const seller = chain.account(0).address
  const received = await chain.transfersTo(seller)
  const sum = (transfers: typeof received, from: string): bigint =>
    transfers
      .filter((transfer) => transfer.from.toLowerCase() === from.toLowerCase())
      .reduce((total, { value }) => total + value, 0n)
  const flows: Array<{ paid: bigint; back: bigint }> = []
  for (const { address } of buyers) {
    const back = sum(await chain.transfersTo(address), seller)
    flows.push({ paid: sum(received, address), back })
  }
  return flows
}
