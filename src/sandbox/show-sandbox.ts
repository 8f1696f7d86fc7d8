import { styleText } from 'node:util'
import type { Network } from '../protocol/network.ts'
import type { DevAccount, DevChain } from '../testing/dev-chain.ts'
import { PLANS, ROUTES } from './demo-catalog.ts'
import type { SandboxCommands } from './sandbox-commands.ts'

export interface SandboxFacts {
  baseUrl: string
  port: number
  dashboardUrl: string
  /** With the local chain of each, in the order in which they are offered. */
  networks: ReadonlyArray<{ network: Network; chain: DevChain }>
  seller: DevAccount
  gasWallet: DevAccount
  buyer: DevAccount
  seconds: number
  commands: SandboxCommands
}

const strong = (text: string): string => styleText('bold', text)

/** Prints where everything is, and what to try. */
export function showSandbox(facts: SandboxFacts): void {
  console.log(`\n${strong(`paystile sandbox is ready`)} after ${facts.seconds.toFixed(1)} s\n`)
  for (const [name, value] of rowsOf(facts)) console.log(`  ${name.padEnd(10)} ${value}`)
  console.log('\nTry, in a second terminal:\n')
  const commands = commandsOf(facts)
  const width = Math.max(44, ...commands.map(([command]) => command.length))
  for (const [command, what] of commands) console.log(`  ${strong(command.padEnd(width))} ${what}`)
  console.log('\nCtrl-C stops everything.')
}

function rowsOf({ networks, ...facts }: SandboxFacts): Array<[string, string]> {
  const several = networks.length > 1
  return [
    ['gateway', facts.baseUrl],
    ['dashboard', facts.dashboardUrl],
    ...networks.map(({ network, chain }): [string, string] => [
      'chain',
      `${chain.rpcUrl} (a local stand-in for ${network.name})`,
    ]),
    ['seller', `${facts.seller.address}${several ? ' (refunds on each chain)' : ''}`],
    ...(several
      ? [['gas wallet', `${facts.gasWallet.address} holds coins for gas on each chain`] as [string, string]]
      : []),
    ['plans', PLANS.map(planLine).join('  ·  ')],
    ['paid calls', ROUTES.map(routeLine).join('  ·  ')],
    ['buyer', `${facts.buyer.address} holds $100 of test USDC${several ? ' on each chain' : ''}`],
    ['buyer key', `${facts.buyer.privateKey} (worthless anywhere else)`],
  ]
}

const planLine = ({
  planId,
  unitAmount,
  credits,
}: {
  planId: string
  unitAmount: string
  credits?: number
}) => `${planId} ${unitAmount}${credits === undefined ? '' : ` for ${credits} credits`}`

const routeLine = (route: { method: string; path: string; unitAmount: string; credits?: number }) =>
  `${route.method} ${route.path} ${route.unitAmount}${route.credits === undefined ? '' : ` or ${route.credits} credit`}`

function commandsOf({ networks, port, baseUrl, commands }: SandboxFacts): Array<[string, string]> {
  const steps = 'watch a plan, a paid call, credits and a refund, step by step'
  const place = port === 3000 ? '' : ` ${port}`
  const buying: Array<[string, string]> =
    networks.length === 1
      ? [[`${commands.buy}${place}`, steps]]
      : networks.map(({ network }, index) => [
          `${commands.buyWithOptions}${place} --network ${network.word}`,
          index === 0 ? steps : `the same on ${network.name}`,
        ])
  return [
    ...buying,
    [`curl ${baseUrl}/skills.md`, 'how an agent buys here'],
    [`curl ${baseUrl}/discover`, 'what there is to buy'],
    [
      `curl -i -H "authorization: Bearer $TOKEN" ${baseUrl}/forecast/oslo`,
      `a call with credits; $TOKEN is the token that ${commands.buy} prints`,
    ],
    [`curl -i ${baseUrl}/forecast/oslo`, 'what an unpaid call is answered: 402, with the terms'],
  ]
}
