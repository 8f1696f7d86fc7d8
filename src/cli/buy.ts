import { randomUUID } from 'node:crypto'
import { styleText } from 'node:util'
import { createPublicClient, erc20Abi, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type BuyerError, type BuyerStep, createBuyer } from '../buyer/index.ts'
import type { ChallengeStatus } from '../protocol/access.ts'
import { microToDollars } from '../protocol/amount.ts'
import type { Hex } from '../protocol/hex.ts'
import { BROKEN_PLAN } from './demo-backend.ts'
import { readSandboxState, type SandboxState } from './sandbox-state.ts'

const tick = styleText('green', '✓')
const say = (step: string, text: string): void =>
  console.log(`  ${tick} ${styleText('bold', step.padEnd(9))} ${text}`)

/** One purchase and one refund against the sandbox, told step by step. */
async function main(): Promise<void> {
  const state = readSandboxState()
  if (!state) throw new Error('The sandbox is not running. Start it first, in another terminal: npm start')
  const account = privateKeyToAccount(state.buyerPrivateKey)
  const buyer = createBuyer({ account, maxAmount: '$1.00', onStep: tell })
  const balances = await balancesOf(state, account.address)

  console.log(styleText('bold', '\nA purchase\n'))
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

  console.log(styleText('bold', '\nA delivery that fails, and the refund\n'))
  const requestId = randomUUID()
  const failure = await buyer.buy(state.baseUrl, { planId: BROKEN_PLAN, requestId }).then(
    () => undefined,
    (error: BuyerError) => error,
  )
  if (!failure?.statusUrl) throw failure ?? new Error('the broken plan was delivered')
  await balances()
  const refunded = await followRefund(failure.statusUrl)
  say('refund', `on chain, by itself, in transaction ${refunded.refundTxHash}`)
  await balances()
  console.log('')
}

let waiting: NodeJS.Timeout | undefined

/** One line per step; while the chain works, the seconds tick. */
function tell(step: BuyerStep): void {
  clearInterval(waiting)
  if (process.stdout.isTTY) process.stdout.write('\r\u001b[K')
  say(...lineOf(step))
  if (step.step !== 'send' || !process.stdout.isTTY) return
  const since = Date.now()
  waiting = setInterval(() => {
    process.stdout.write(`\r    waiting for the chain: ${((Date.now() - since) / 1000).toFixed(1)} s`)
  }, 100)
}

function lineOf(step: BuyerStep): [string, string] {
  switch (step.step) {
    case 'discover':
      return ['discover', step.catalog.plans.map((plan) => `${plan.planId} ${plan.unitAmount}`).join('  ·  ')]
    case 'challenge': {
      const { amountMicro, payTo, network } = step.offer
      return ['402', `pay ${microToDollars(amountMicro)} to ${payTo} on ${network.id}`]
    }
    case 'sign':
      return ['sign', 'an EIP-3009 authorization, off-chain: no gas, and nothing has moved yet']
    case 'send':
      return [
        'send',
        step.attempt === 1
          ? 'the same request again, with the payment'
          : `the same payload, try ${step.attempt}`,
      ]
    case 'pending':
      return ['pending', `${step.reason}; asking again in ${step.retryInSeconds} s`]
    case 'granted':
      return ['settled', `in transaction ${step.txHash}`]
    case 'refused':
      return ['refused', `${step.code}: ${step.message}`]
  }
}

async function balancesOf(state: SandboxState, buyer: Hex): Promise<() => Promise<void>> {
  const { asset } = (await (await fetch(`${state.baseUrl}/discover`)).json()) as { asset: Hex }
  const client = createPublicClient({ transport: http(state.rpcUrl) })
  const balance = async (owner: Hex): Promise<string> =>
    microToDollars(
      await client.readContract({ address: asset, abi: erc20Abi, functionName: 'balanceOf', args: [owner] }),
    )
  return async () => {
    const [own, sellers] = await Promise.all([balance(buyer), balance(state.sellerAddress)])
    console.log(styleText('dim', `    buyer ${own}   seller ${sellers}`))
  }
}

/** Refunds wait until the payment is final, so that no reorganisation can take it back. */
async function followRefund(statusUrl: string): Promise<ChallengeStatus> {
  const startedAt = Date.now()
  for (;;) {
    const status = (await (await fetch(statusUrl)).json()) as ChallengeStatus
    const waited = `${status.state}, ${Math.round((Date.now() - startedAt) / 1000)} s`
    if (process.stdout.isTTY) process.stdout.write(`\r    waiting for the refund: ${waited}   `)
    if (status.state === 'REFUNDED' || status.state === 'REFUND_FAILED') {
      process.stdout.write(process.stdout.isTTY ? '\r\u001b[K' : '')
      if (status.state === 'REFUND_FAILED')
        throw new Error('The refund failed; see the terminal of the sandbox.')
      return status
    }
    await new Promise((turn) => setTimeout(turn, 500))
  }
}

main().catch((cause: unknown) => {
  console.error(cause instanceof Error ? cause.message : cause)
  process.exitCode = 1
})
