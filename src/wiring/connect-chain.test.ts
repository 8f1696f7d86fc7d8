import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { encodeAbiParameters } from 'viem'
import { afterEach, expect, test } from 'vitest'
import { MULTICALL3 } from '../chain/multicall.ts'
import { SETTLER, SETTLER_CODE } from '../chain/settler.ts'
import type { NetworkConfig } from '../config/resolved-config.ts'
import { findNetwork } from '../protocol/networks.ts'
import { PERMIT2_ADDRESS, UPTO_PROXY_ADDRESS } from '../protocol/permit2.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { connectChain } from './build-rail.ts'
import { createWalletCode } from './contract-faults.ts'

const network = findNetwork('polygon')!
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

const text = (value: string) => encodeAbiParameters([{ type: 'string' }], [value])
interface Failing {
  calls: readonly string[]
  error: { code: number; message: string; data?: string }
}
const NAME = '0x06fdde03'
const VERSION = '0x54fd4d50'
const DECIMALS = '0x313ce567'
const RIGHT = {
  chainId: '0x89',
  name: 'USD Coin',
  version: '2',
  decimals: 6,
  /** What is at every address but those of `codes`. */
  code: '0x',
  codes: { [MULTICALL3]: '0x6080' } as Record<string, string>,
}

/** A node with this token; without one, it never answers. `failing`: the error that it answers to these calls. */
async function startNode(token?: typeof RIGHT, failing?: Failing): Promise<string> {
  const block = { number: '0x9', hash: `0x${'cc'.repeat(32)}`, timestamp: '0x1' }
  const server = createServer(async (request, response) => {
    let sent = ''
    for await (const chunk of request) sent += chunk
    if (!token) return
    const codeAt = (address: string) => token.codes[address] ?? token.code
    const results: Record<string, unknown> = {
      eth_chainId: token.chainId,
      eth_getBlockByNumber: block,
      [NAME]: text(token.name),
      [VERSION]: text(token.version),
      [DECIMALS]: encodeAbiParameters([{ type: 'uint8' }], [token.decimals]),
    }
    const calls = [JSON.parse(sent)].flat()
    const answers = calls.map(({ id, method, params }) =>
      failing?.calls.includes(params[0]?.data ?? params[0])
        ? { id, error: failing.error }
        : {
            id,
            result:
              method === 'eth_getCode' ? codeAt(params[0]) : (results[method] ?? results[params[0].data]),
          },
    )
    response.end(JSON.stringify(calls.length === 1 ? answers[0] : answers))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  servers.push(server)
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-key`
}

const hostOf = (url: string) => new URL(url).host

function connect(rpcUrls: string[], settler = false, isMetered = false) {
  const alerts: Array<[kind: string, message: string]> = []
  const clock = createFakeClock()
  const on: NetworkConfig = {
    network: { ...network, rpcUrls },
    walletAddress: `0x${'5e'.repeat(20)}`,
    settlement: settler
      ? { kind: 'gas-wallet', privateKeys: [`0x${'11'.repeat(32)}`], settler }
      : { kind: 'facilitator', url: 'http://127.0.0.1:9', auth: { kind: 'none' } },
    refundWalletPrivateKey: null,
    labels: {
      rpcUrl: 'RPC_URL_137',
      walletAddress: 'SVC_WALLET_ADDRESS',
      gasWalletPrivateKey: 'GAS_WALLET_PRIVATE_KEY',
      facilitatorUrl: 'FACILITATOR_URL_137',
      settlerContract: 'SETTLER_CONTRACT',
    },
  }
  const base = { ...on, network: findNetwork('base')! }
  const wallets = createWalletCode([base, on])
  /** The same wallet is a contract on Base. */
  const findOnBase = () => wallets.note(base, true)
  const raise = (kind: string, message: string) => void alerts.push([kind, message])
  return {
    findOnBase,
    connected: connectChain(on, { alerts: { raise }, clock }, { isMetered, wallets }),
    alerts,
    clock,
  }
}

test.each([
  ['chainId', { ...RIGHT, chainId: '0x1' }, '1', '137'],
  ['name', { ...RIGHT, name: 'USDC' }, 'USDC', 'USD Coin'],
  ['version', { ...RIGHT, version: '1' }, '1', '2'],
  ['decimals', { ...RIGHT, decimals: 18 }, '18', '6'],
])(
  'another %s is one line that begins with the name of the setting',
  async (field, token, found, expected) => {
    const { connected, alerts } = connect([await startNode(token)])
    expect((await connected).faults).toEqual([
      `RPC_URL_137 answers ${field} ${found}; eip155:137 has ${expected}. Use an RPC of eip155:137.`,
    ])
    expect(alerts).toEqual([])
  },
)

test('a chain that never answers holds the boot up for three seconds at most, and is named by its hosts', async () => {
  const urls = [await startNode(), await startNode()]
  const { connected, alerts, clock } = connect(urls)
  await clock.advance(3_000)
  expect(await connected).toMatchObject({ faults: [], isSilent: true })
  expect(alerts).toEqual([
    ['chain-unreachable', `Polygon (${urls.map(hostOf).join(', ')}) does not answer; payments on it wait`],
  ])
})

test.each([
  ['header not found', -32000],
  ['missing trie node 5f1e', -32000],
  ['Internal error', -32603],
])('a node that answers "%s" was not asked: no fault, and it is asked again', async (message, code) => {
  for (const call of [NAME, VERSION, DECIMALS]) {
    const failing = { calls: [call], error: { code, message } }
    const { connected, alerts } = connect([await startNode(RIGHT, failing)])
    const { faults, domain } = await connected
    expect(faults).toEqual([])
    expect(alerts.map(([kind]) => kind)).toEqual(['chain-unreachable'])
    await expect(domain.ready()).rejects.toThrow('the chain cannot be reached')
    failing.calls = []
    await domain.ready()
  }
})

test('a token that reverts when it is asked for its version has none', async () => {
  const failing = { calls: [VERSION], error: { code: 3, message: 'execution reverted', data: '0x' } }
  expect((await connect([await startNode(RIGHT, failing)]).connected).faults).toEqual([
    'RPC_URL_137 answers version ; eip155:137 has 2. Use an RPC of eip155:137.',
  ])
})

test('one good node is enough: one that is silent does not matter, one of another chain is left out', async () => {
  const wrong = await startNode({ ...RIGHT, chainId: '0x1' })
  const urls = [await startNode(), wrong, await startNode(RIGHT)]
  const { connected, alerts } = connect(urls)
  const { faults, domain } = await connected
  expect(faults).toEqual([])
  expect(await domain.check()).toMatchObject({ kind: 'good' })
  await expect.poll(() => alerts.map(([kind]) => kind)).toEqual(['chain-inconsistent'])
  expect(alerts[0]![1]).toMatch(`${hostOf(wrong)} of Polygon is left out: it `)
  expect(JSON.stringify(alerts)).not.toContain('secret-key')
})

test('if no node of several is right, each fault says which node it is about, by its host alone', async () => {
  const url = await startNode({ ...RIGHT, chainId: '0x1' })
  const { connected } = connect([url, 'http://127.0.0.1:9/secret-key'])
  expect((await connected).faults).toEqual([
    `RPC_URL_137 (${hostOf(url)}) answers chainId 1; eip155:137 has 137. Use an RPC of eip155:137.`,
  ])
})

test.each([
  ['a plain account', '0x', false],
  ['a contract', '0x6080', true],
  ['an account that delegates (EIP-7702)', `0xef0100${'ab'.repeat(20)}`, false],
])('a wallet that is a contract on another network must be one here: %s', async (_, code, isContract) => {
  const { connected, findOnBase } = connect([await startNode({ ...RIGHT, code })])
  const { domain } = await connected
  await domain.ready()
  // Base answers later than this network.
  findOnBase()
  const fault = await domain.ready().catch(String)
  if (isContract) expect(fault).toBeUndefined()
  else expect(fault).toContain('is a contract on Base and has no code on Polygon')
})

test('the wallet of a network that was silent at the start is looked at before anything is settled', async () => {
  const failing = { calls: [NAME], error: { code: -32000, message: 'header not found' } }
  const { connected, findOnBase } = connect([await startNode(RIGHT, failing)])
  findOnBase()
  const { domain, isSilent } = await connected
  expect(isSilent).toBe(true)
  failing.calls = []
  await expect(domain.ready()).rejects.toThrow('has no code on Polygon: money sent to it there')
})

test.each([
  [
    'nothing',
    '0x',
    `SETTLER_CONTRACT is set, but the settler contract is not on Polygon (eip155:137) at ${SETTLER}. Run: paystile deploy-settler --network polygon`,
  ],
  [
    'another contract',
    `${SETTLER_CODE}00`,
    `SETTLER_CONTRACT is set, but ${SETTLER} on Polygon (eip155:137) has other code than the settler contract, and no payment is sent there. Check the RPC, and that \`paystile deploy-settler --network polygon\` finds the contract; or turn SETTLER_CONTRACT off.`,
  ],
])('%s where the settler contract should be stops the boot, if it is to be used', async (_, code, fault) => {
  const url = await startNode({ ...RIGHT, code })
  expect((await connect([url], true).connected).faults).toEqual([fault])
  expect((await connect([url]).connected).faults).toEqual([])
})

test('the settler contract may be missing at one node that is behind, and is asked for until it was seen', async () => {
  const there = await startNode({ ...RIGHT, code: SETTLER_CODE })
  const missing = { ...RIGHT, code: '0x' }
  const { faults, domain } = await connect([await startNode(missing), there], true).connected
  expect(faults).toEqual([])
  await domain.ready()
  const late = (await connect([await startNode(missing)], true).connected).domain
  await expect(late.ready()).rejects.toThrow('paystile deploy-settler --network polygon')
})

const busy = { code: -32603, message: 'Internal error' }
const lackingMetered = [
  `Permit2 (${PERMIT2_ADDRESS}) is not on Polygon, so no route with scheme "upto" can be sold there: give the routes a fixed price, or leave that network out.`,
  `the proxy of scheme upto (${UPTO_PROXY_ADDRESS}) is not on Polygon, so no route with scheme "upto" can be sold there: give the routes a fixed price, or leave that network out.`,
]

test.each([
  ['the token', [NAME]],
  ['the contracts', [PERMIT2_ADDRESS, UPTO_PROXY_ADDRESS]],
])(
  'contracts of metered calls that could not be asked for (%s) are asked for before anything is settled',
  async (_, calls) => {
    const failing: Failing = { calls, error: busy }
    const { faults, domain } = await connect([await startNode(RIGHT, failing)], false, true).connected
    expect(faults).toEqual([])
    await expect(domain.ready()).rejects.toThrow('the chain cannot be reached')
    failing.calls = []
    await expect(domain.ready()).rejects.toThrow(lackingMetered.join(' '))
  },
)

test('a chain without the contracts of metered calls stops the boot if a route is metered', async () => {
  const url = await startNode(RIGHT)
  expect((await connect([url], false, true).connected).faults).toEqual(lackingMetered)
  expect((await connect([url]).connected).faults).toEqual([])
})

test('a chain without Multicall3 is a fault with that name, at the start or as soon as it can be asked', async () => {
  const fault = `Multicall3 (${MULTICALL3}) is not on Polygon (eip155:137), and every payment is looked at by it before it is taken: deploy it there, or leave that network out.`
  const bare = { ...RIGHT, codes: {} }
  expect((await connect([await startNode(bare)]).connected).faults).toEqual([fault])
  const failing: Failing = { calls: [MULTICALL3], error: busy }
  const { faults, domain } = await connect([await startNode(bare, failing)]).connected
  expect(faults).toEqual([])
  failing.calls = []
  await expect(domain.ready()).rejects.toThrow(fault)
})
