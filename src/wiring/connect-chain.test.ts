import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { encodeAbiParameters } from 'viem'
import { afterEach, expect, test } from 'vitest'
import { SETTLER, SETTLER_CODE } from '../chain/settler.ts'
import type { NetworkConfig } from '../config/resolved-config.ts'
import { findNetwork } from '../protocol/networks.ts'
import { createFakeClock } from '../testing/fake-clock.ts'
import { connectChain } from './build-rail.ts'

const network = findNetwork('polygon')!
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

const text = (value: string) => encodeAbiParameters([{ type: 'string' }], [value])
const RIGHT = { chainId: '0x89', name: 'USD Coin', version: '2', decimals: 6, code: '0x' }

/** A node with this token; without one, it never answers. */
async function startNode(token?: typeof RIGHT): Promise<string> {
  const block = { number: '0x9', hash: `0x${'cc'.repeat(32)}`, timestamp: '0x1' }
  const server = createServer(async (request, response) => {
    let sent = ''
    for await (const chunk of request) sent += chunk
    if (!token) return
    const results: Record<string, unknown> = {
      eth_chainId: token.chainId,
      eth_getCode: token.code,
      eth_getBlockByNumber: block,
      '0x06fdde03': text(token.name),
      '0x54fd4d50': text(token.version),
      '0x313ce567': encodeAbiParameters([{ type: 'uint8' }], [token.decimals]),
    }
    const calls = [JSON.parse(sent)].flat()
    const answers = calls.map(({ id, method, params }) => ({
      id,
      result: results[method] ?? results[params[0].data],
    }))
    response.end(JSON.stringify(calls.length === 1 ? answers[0] : answers))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  servers.push(server)
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret-key`
}

const hostOf = (url: string) => new URL(url).host

function connect(rpcUrls: string[], settler = false) {
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
  const raise = (kind: string, message: string) => void alerts.push([kind, message])
  return { connected: connectChain(on, { alerts: { raise }, clock }), alerts, clock }
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
  expect(await connected).toMatchObject({ faults: [], hasCode: undefined })
  expect(alerts).toEqual([
    ['chain-unreachable', `Polygon (${urls.map(hostOf).join(', ')}) does not answer; payments on it wait`],
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
])('whether the wallet is a contract: %s', async (_, code, expected) => {
  const { connected } = connect([await startNode({ ...RIGHT, code })])
  expect((await connected).hasCode).toBe(expected)
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
