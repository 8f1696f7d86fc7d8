import { styleText } from 'node:util'
import { createPublicClient, erc20Abi, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type BuyerStep, createBuyer } from '../buyer/index.ts'
import type { ChallengeStatus, ResourceResponse } from '../protocol/access.ts'
import { microToDollars } from '../protocol/amount.ts'
import type { DiscoveryCatalog } from '../protocol/catalog.ts'
import type { Hex } from '../protocol/hex.ts'
import { findNetwork } from '../protocol/networks.ts'
import { printableLine } from '../protocol/printable.ts'
import { BROKEN_PATH } from './demo-backend.ts'
import { CREDIT_PLAN } from './demo-catalog.ts'
import type { SandboxCommands } from './sandbox-commands.ts'
import { chosenNetwork } from './sandbox-networks.ts'
import { findSandboxes, type SandboxState } from './sandbox-state.ts'

const tick = styleText('green', '✓')
const say = (step: string, text: string, mark = tick): void =>
  console.log(`  ${mark} ${styleText('bold', step.padEnd(9))} ${printableLine(text)}`)

/** Buys a plan, a paid call, credits and a call that is refunded from the sandbox, and prints each step. */
export async function buyFromSandbox(
  { place: wanted, network }: { place: string | undefined; network: string | undefined },
  commands: SandboxCommands,
): Promise<void> {
  const state = chooseSandbox(wanted, commands)
  const ids = state.networks.map(({ id }) => id)
  const account = privateKeyToAccount(state.buyerPrivateKey)
  const place: Place = { several: ids.length > 1 }
  const buyer = createBuyer({
    account,
    maxAmount: '$1.00',
    rpcUrls: Object.fromEntries(state.networks.map(({ id, rpcUrl }) => [id, rpcUrl])),
    ...(network !== undefined && { networks: [chosenNetwork(network, ids).id] }),
    onStep: (step) => tell(step, place),
  })
  const balances = balancesOf(state, account.address)
  const heading = (text: string): void => console.log(styleText('bold', `\n${text}\n`))

  heading('A plan: one payment, then a token')
  await balances()
  const catalog = await buyer.discover(state.baseUrl)
  const plan = catalog.plans[0]!
  const { grant } = await buyer.buy(state.baseUrl, { planId: plan.planId })
  say(
    'grant',
    `a bearer credential for ${grant.resourceEndpoint}, until ${grant.expiresAt ?? 'it is revoked'}`,
  )
  const data = await fetch(grant.resourceEndpoint, {
    headers: { authorization: `Bearer ${grant.accessToken}` },
  })
  say('use', `GET ${new URL(grant.resourceEndpoint).pathname} answers ${data.status}: ${await data.text()}`)
  await balances()

  heading('A paid call: one payment, one answer')
  const path = catalog.routes[0]!.path.replace(':city', 'oslo')
  const called = await buyer.fetch(`${state.baseUrl}${path}`)
  const { txHash, resource } = (await called.json()) as ResourceResponse
  quiet()
  say('settled', `in transaction ${txHash}${whereOf(place)}`)
  say('answer', `GET ${path} answers ${resource.status}: ${JSON.stringify(resource.body)}`)
  await balances()

  heading('Credits: one payment, then calls without any')
  const prepaid = await buyer.buy(state.baseUrl, { planId: CREDIT_PLAN })
  for (const city of ['oslo', 'rome', 'lima']) {
    const startedAt = performance.now()
    const answered = await buyer.fetch(`${state.baseUrl}/forecast/${city}`)
    const { resource } = (await answered.json()) as ResourceResponse
    const ms = (performance.now() - startedAt).toFixed(0)
    say('answer', `GET /forecast/${city} answers ${resource.status} after ${ms} ms, without the chain`)
  }
  console.log(`    the rest is for you: export TOKEN=${prepaid.grant.accessToken}`)
  await balances()

  heading('A delivery that fails, and the refund')
  const failed = (await (await buyer.fetch(`${state.baseUrl}${BROKEN_PATH}`)).json()) as ResourceResponse
  quiet()
  if (failed.statusUrl === undefined) throw new Error('the broken call was delivered')
  say('failed', `paid, and the seller's API answered ${failed.resource.status}`, styleText('red', '✗'))
  await balances()
  const refunded = await followRefund(failed.statusUrl)
  say('refund', `is there, without asking, in transaction ${refunded.refundTxHash}${whereOf(place)}`)
  await balances()
  console.log(`\nAll of it is on the dashboard: ${styleText('bold', state.dashboardUrl)}\n`)
}

/** The newest sandbox that runs, or the one that the argument names by port or address. */
function chooseSandbox(wanted: string | undefined, commands: SandboxCommands): SandboxState {
  const running = findSandboxes()
  const [state] = findSandboxes(wanted)
  const places = running.map(({ baseUrl }) => baseUrl).join(', ')
  if (running.length === 0) {
    throw new Error(`The sandbox is not running. Start it first, in another terminal: ${commands.start}`)
  }
  if (!state) throw new Error(`No sandbox runs at ${wanted}. There is ${places}.`)
  if (running.length > 1 && wanted === undefined) {
    console.log(
      `Several sandboxes run (${places}); buying at the newest. Another one: ${commands.buy} <port>`,
    )
  }
  return state
}

/** Where the purchase at hand is paid, for a sandbox that sells on several networks. */
interface Place {
  several: boolean
  /** CAIP-2 id. */
  network?: string
}

const nameOf = (id: string): string => findNetwork(id)?.name ?? id

function whereOf({ several, network }: Place): string {
  return several && network !== undefined ? ` on ${nameOf(network)}` : ''
}

let waiting: NodeJS.Timeout | undefined

function quiet(): void {
  clearInterval(waiting)
  if (process.stdout.isTTY) process.stdout.write('\r\u001b[K')
}

/** Prints one line per step, and counts the seconds while the chain works. */
function tell(step: BuyerStep, place: Place): void {
  quiet()
  if (step.step === 'challenge') place.network = step.offer.network.id
  say(...lineOf(step, place), step.step === 'refused' ? styleText('red', '✗') : tick)
  if (step.step !== 'send' || !process.stdout.isTTY) return
  const since = Date.now()
  waiting = setInterval(() => {
    process.stdout.write(`\r    waiting for the chain: ${((Date.now() - since) / 1000).toFixed(1)} s`)
  }, 100)
}

function lineOf(step: BuyerStep, place: Place): [string, string] {
  switch (step.step) {
    case 'discover':
      return ['discover', pricesOf(step.catalog).join('  ·  ')]
    case 'challenge': {
      const { amountMicro, payTo, network } = step.offer
      const pay = `pay ${microToDollars(amountMicro)} to ${payTo}`
      if (!place.several) return ['402', `${pay} on ${network.id}`]
      return ['402', `${pay}${whereOf(place)}: ${step.reason ?? 'nothing else is offered now'}`]
    }
    case 'sign': {
      const what = step.offer.scheme === 'upto' ? 'a maximum for Permit2' : 'an EIP-3009 authorization'
      return ['sign', `${what}, off-chain: no gas, and nothing has moved yet`]
    }
    case 'send':
      return [
        'send',
        step.attempt === 1
          ? 'the same request again, with the payment'
          : `the same payload, try ${step.attempt}`,
      ]
    case 'pending':
      return ['pending', `${step.reason}; asking again in ${step.retryInSeconds} s`]
    case 'approve':
      return ['approve', `${microToDollars(step.amountMicro)} for Permit2, once, in a transaction`]
    case 'charged':
      return [
        'charged',
        `${microToDollars(step.chargedMicro)} of at most ${microToDollars(step.maximumMicro)}${whereOf(place)}`,
      ]
    case 'granted':
      return ['settled', `in transaction ${step.txHash}${whereOf(place)}`]
    case 'debited':
      return ['debited', `${step.charged} credit of the plan ${step.planId}; ${step.remaining} are left`]
    case 'refused':
      return step.code === 'REFUNDED'
        ? ['failed', step.message]
        : ['refused', `${step.code}: ${step.message}`]
  }
}

function pricesOf({ plans, routes }: DiscoveryCatalog): string[] {
  return [
    ...plans.map(
      ({ planId, unitAmount, credits }) =>
        `${planId} ${unitAmount}${credits === undefined ? '' : ` for ${credits} credits`}`,
    ),
    ...routes.map(({ path, unitAmount }) => `${path} ${unitAmount}`),
  ]
}

/** Prints what buyer and seller hold, on a line per network. */
function balancesOf({ networks, sellerAddress }: SandboxState, buyer: Hex): () => Promise<void> {
  const holders = networks.map(({ id, rpcUrl }) => {
    const client = createPublicClient({ transport: http(rpcUrl) })
    const { address } = findNetwork(id)!.token
    return async (owner: Hex): Promise<string> =>
      microToDollars(
        await client.readContract({ address, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
      )
  })
  return async () => {
    const lines = await Promise.all(
      holders.map(async (balance, index) => {
        const [own, sellers] = await Promise.all([balance(buyer), balance(sellerAddress)])
        const where = networks.length > 1 ? `   on ${nameOf(networks[index]!.id)}` : ''
        return `    buyer ${own}   seller ${sellers}${where}`
      }),
    )
    console.log(styleText('dim', lines.join('\n')))
  }
}

/** Waits for the refund, which is sent when the payment is final and no reorganisation can remove it. */
async function followRefund(statusUrl: string): Promise<ChallengeStatus> {
  const startedAt = Date.now()
  const onItsWay = 'refund is on its way: it is sent as soon as the payment is final'
  if (!process.stdout.isTTY) console.log(`    ${onItsWay}`)
  for (;;) {
    const status = (await (await fetch(statusUrl)).json()) as ChallengeStatus
    const seconds = ((Date.now() - startedAt) / 1000).toFixed(1)
    if (process.stdout.isTTY) process.stdout.write(`\r    ${onItsWay}, ${seconds} s   `)
    if (status.state === 'REFUNDED' || status.state === 'REFUND_FAILED') {
      quiet()
      if (status.state === 'REFUND_FAILED')
        throw new Error('The refund failed; see the terminal of the sandbox.')
      return status
    }
    await new Promise((turn) => setTimeout(turn, 250))
  }
}
