import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { GatewayOptions } from '../config/options.ts'
import { resolveConfig } from '../config/resolve-config.ts'
import { type DevChain, startDevChain } from '../testing/index.ts'
import { liveChecks } from './live-checks.ts'
import { type Finding, runChecks } from './run-checks.ts'
import { standingChecks } from './standing-checks.ts'

let base: DevChain
let arbitrum: DevChain
/** Where nothing listens any more. */
let nobody: string

beforeAll(async () => {
  ;[base, arbitrum] = await Promise.all([startDevChain(), startDevChain({ chainId: 421_614 })])
  const server = createServer()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  nobody = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await new Promise((closed) => server.close(closed))
})
afterAll(() => Promise.all([base.stop(), arbitrum.stop()]))

function optionsOf(own: Record<number, object>, change: Partial<GatewayOptions> = {}): GatewayOptions {
  const perNetwork = {
    84532: { rpcUrl: base.rpcUrl, ...own[84_532] },
    421614: { rpcUrl: arbitrum.rpcUrl, ...own[421_614] },
  }
  const walletAddress = base.account(0).address
  const gasWalletPrivateKey = base.account(1).privateKey
  const network = 'base-sepolia,arbitrum-sepolia'
  return { walletAddress, network, gasWalletPrivateKey, perNetwork, store: 'memory', ...change }
}
const look = (...given: Parameters<typeof optionsOf>) => runChecks(liveChecks(optionsOf(...given)))
const about = (findings: readonly Finding[], name: string) =>
  findings.filter((finding) => finding.name === name)

describe('live checks of several networks', () => {
  test('each network is asked, and each finding names its variable', async () => {
    const findings = await look({}, { refundWalletPrivateKey: base.account(0).privateKey })
    expect(findings.every(({ level }) => level === 'ok')).toBe(true)
    expect(findings.map(({ name, message }) => `${name}: ${message}`)).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^RPC_URL_84532: the RPC of Base Sepolia at /),
        expect.stringMatching(/^RPC_URL_421614: the RPC of Arbitrum Sepolia at /),
        expect.stringMatching(/^SVC_WALLET_ADDRESS: holds .* on Base Sepolia$/),
        expect.stringMatching(/^SVC_WALLET_ADDRESS: holds .* on Arbitrum Sepolia$/),
        expect.stringMatching(/^GAS_WALLET_PRIVATE_KEY: .* ETH on Arbitrum Sepolia/),
        expect.stringMatching(/^REFUND_WALLET_PRIVATE_KEY: .* for refunds on Arbitrum Sepolia$/),
        'clock: the clock fits the chain of Arbitrum Sepolia',
      ]),
    )
  })

  test('an RPC of the other chain is an error of its own variable', async () => {
    const findings = await look({ 421614: { rpcUrl: base.rpcUrl } })
    expect(about(findings, 'RPC_URL_421614')).toEqual([
      expect.objectContaining({
        level: 'error',
        message: expect.stringContaining('answers chainId 84532 instead of 421614'),
        fix: expect.stringContaining('Set RPC_URL_421614'),
      }),
    ])
    expect(about(findings, 'RPC_URL_84532').map(({ level }) => level)).toEqual(['ok'])
  })

  test('all RPCs are asked; while one answers, the wallets are known', async () => {
    const findings = await look({ 421614: { rpcUrl: [arbitrum.rpcUrl, nobody] } })
    expect(about(findings, 'RPC_URL_421614').map(({ level }) => level)).toEqual(['ok', 'warn'])
    const first = await look({ 421614: { rpcUrl: `${nobody},${arbitrum.rpcUrl}` } })
    expect(about(first, 'RPC_URL_421614').map(({ level }) => level)).toEqual(['error', 'ok'])
    expect(about(first, 'GAS_WALLET_PRIVATE_KEY').map(({ level }) => level)).toEqual(['ok', 'ok'])
  })

  test('a gas wallet of one network, and a facilitator that does not answer', async () => {
    const poor = await arbitrum.newBuyer()
    const findings = await look({
      84532: { facilitatorUrl: nobody },
      421614: { gasWalletPrivateKey: poor.privateKey },
    })
    expect(about(findings, 'FACILITATOR_URL_84532')).toEqual([
      expect.objectContaining({
        level: 'error',
        message: expect.stringContaining('facilitator of Base Sepolia'),
      }),
    ])
    expect(about(findings, 'GAS_WALLET_PRIVATE_KEY_421614')).toEqual([
      expect.objectContaining({ level: 'error', fix: expect.stringContaining('Send ETH on eip155:421614') }),
    ])
  })

  test('a wallet that is a contract on one chain only is an error', async () => {
    const walletAddress = `0x${'5a'.repeat(20)}`
    await base.client.setCode({ address: walletAddress as `0x${string}`, bytecode: '0x600160005260206000f3' })
    const named = 'SVC_WALLET_ADDRESS'
    const errors = (findings: Finding[]) => findings.filter(({ level }) => level === 'error')
    expect(errors(about(await look({}, { walletAddress }), named))).toEqual([
      expect.objectContaining({
        message: expect.stringContaining('is a contract on Base Sepolia, and none on Arbitrum Sepolia'),
        fix: expect.stringContaining('SVC_WALLET_ADDRESS_421614'),
      }),
    ])
    const own = { 421614: { walletAddress: base.account(0).address } }
    expect(errors(await look(own, { walletAddress }))).toEqual([])
  })
})

test('a node that says nothing is told for its own network only', async () => {
  const silent = createServer(() => undefined)
  await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening))
  const { port } = silent.address() as AddressInfo
  const options = optionsOf(
    { 421614: { rpcUrl: `http://127.0.0.1:${port}` } },
    { plans: [{ planId: 'basic', unitAmount: '$1.00' }], tokenSecret: 'x'.repeat(32) },
  )
  const checks = [...liveChecks(options), ...standingChecks(resolveConfig(options), '.')]
  const findings = await runChecks(checks, 1_500).finally(() => {
    silent.close()
    silent.closeAllConnections()
  })
  const bad = findings.filter(({ level }) => level !== 'ok')
  expect(about(bad, 'RPC_URL_421614').map(({ level }) => level)).toEqual(['error'])
  for (const { message, fix } of bad) {
    expect(message).toContain('Arbitrum Sepolia')
    expect(fix).not.toContain('84532')
  }
})

test('standing checks ask every RPC of every network how fresh it is', async () => {
  const options = optionsOf(
    { 421614: { rpcUrl: [arbitrum.rpcUrl, arbitrum.rpcUrl.replace('127.0.0.1', 'localhost')] } },
    { plans: [{ planId: 'basic', unitAmount: '$1.00' }], tokenSecret: 'x'.repeat(32) },
  )
  const checks = standingChecks(resolveConfig(options), '.')
  const fresh = checks.filter(({ asks }) => asks.includes('newest block'))
  expect(fresh.map(({ asks }) => /the RPC of (.*) at/.exec(asks)?.[1])).toEqual([
    'Base Sepolia',
    'Arbitrum Sepolia',
    'Arbitrum Sepolia',
  ])
  for (const { level } of await runChecks(fresh)) expect(level).toBe('ok')
})
