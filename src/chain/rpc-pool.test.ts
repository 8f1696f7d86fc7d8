import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { UnavailableError } from '../errors.ts'
import { onOneNode } from './rpc.ts'
import { createRpcPool } from './rpc-pool.ts'

const START_MS = 1_750_000_000_000
const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** A node at block 1000 whose answers a test can change. */
interface FakeNode {
  url: string
  host: string
  /** Answers HTTP 503 while it is set. */
  down: boolean
  /** Answers an error to every call, with this HTTP status, while it is set. */
  locked: number | undefined
  /** Answers so many times that it is asked too fast. */
  refusals: number
  chainId: number
  height: number
  seconds: number
  /** The last digit of its block hashes. */
  branch: string
  asked: string[]
}

async function startNode(): Promise<FakeNode> {
  const hex = (value: number) => `0x${value.toString(16)}`
  const blockOf = (number: number) => ({
    number: hex(number),
    hash: `0x${number.toString(16).padStart(63, '0')}${node.branch}`,
    timestamp: hex(node.seconds - 2 * (node.height - number)),
  })
  const answer = (method: string, [first]: unknown[]): unknown => {
    if (method === 'eth_chainId') return hex(node.chainId)
    if (method === 'eth_getBlockByNumber') {
      const number = first === 'latest' ? node.height : first === 'finalized' ? 900 : Number(first)
      return number > node.height ? null : blockOf(number)
    }
    return `${method} of ${node.host}`
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const sent = JSON.parse(text)
    const calls = Array.isArray(sent) ? sent : [sent]
    node.asked.push(...calls.map(({ method }) => method))
    if (node.down) return response.writeHead(503).end()
    if (node.refusals-- > 0) return response.writeHead(429, { 'retry-after': '0' }).end()
    if (node.locked) {
      const error = { code: -32600, message: 'Must be authenticated!' }
      const errors = calls.map(({ id }) => ({ jsonrpc: '2.0', id, error }))
      return response.writeHead(node.locked).end(JSON.stringify(Array.isArray(sent) ? errors : errors[0]))
    }
    const answers = calls.map(({ id, method, params }) => ({ id, result: answer(method, params) }))
    response.end(JSON.stringify(Array.isArray(sent) ? answers : answers[0]))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  servers.push(server)
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const node: FakeNode = {
    url: `http://${host}/secret-key`,
    host,
    down: false,
    locked: undefined,
    refusals: 0,
    chainId: 137,
    height: 1000,
    seconds: START_MS / 1000,
    branch: '0',
    asked: [],
  }
  return node
}

async function setUp(count: number, blockMs = 2_000) {
  const nodes = await Promise.all(Array.from({ length: count }, startNode))
  const leftOut: Array<[host: string, reason: string]> = []
  let nowMs = START_MS
  const rpc = createRpcPool(
    { rpcUrls: nodes.map(({ url }) => url), chainId: 137, blockMs, finalDepth: null },
    { timeoutMs: 2_000, maxBytes: 10_000 },
    { now: () => nowMs, onLeftOut: (host, reason) => leftOut.push([host, reason]) },
  )
  const asks = () => rpc.call('net_version', [])
  return {
    rpc,
    nodes: nodes as [FakeNode, FakeNode, FakeNode],
    leftOut,
    asks,
    pass: (ms: number) => {
      nowMs += ms
    },
    async looked() {
      await rpc.compare()
      for (const node of nodes) node.asked.length = 0
    },
  }
}

test('the first node answers; when it fails the next one answers the same call, and the first rests', async () => {
  const { nodes, asks, looked, pass } = await setUp(2)
  const [first, second] = nodes
  await looked()
  expect(await asks()).toBe(`net_version of ${first.host}`)
  first.down = true
  expect(await asks()).toBe(`net_version of ${second.host}`)
  first.asked.length = 0
  expect(await asks()).toBe(`net_version of ${second.host}`)
  expect(first.asked, 'it rests for a second').toEqual([])
  pass(1_001)
  await asks()
  expect(first.asked, 'then it is tried again').toContain('net_version')
  pass(1_500)
  first.asked.length = 0
  await asks()
  expect(first.asked, 'and rests for twice as long').toEqual([])
  first.down = false
  pass(1_000)
  expect(await asks()).toBe(`net_version of ${first.host}`)
})

test('while a node is asked too fast, further calls go to another one', async () => {
  const { nodes, asks, looked } = await setUp(2)
  const [first, second] = nodes
  await looked()
  first.refusals = 1
  const refused = asks()
  await expect.poll(asks).toBe(`net_version of ${second.host}`)
  expect(await refused, 'it is answered too').toMatch('net_version of')
})

test('while every node fails the error is that of a node, and each of them is asked', async () => {
  const { nodes, asks } = await setUp(2)
  for (const node of nodes) node.down = true
  await expect(asks()).rejects.toThrow(UnavailableError)
  await expect(asks()).rejects.toThrow(/HTTP 503/)
  nodes[1].down = false
  expect(await asks(), 'a node that rests is better than none').toBe(`net_version of ${nodes[1].host}`)
})

test('with one URL there is no call more than those that were asked for', async () => {
  const { rpc, nodes, asks, pass } = await setUp(1)
  await asks()
  pass(60_000)
  await asks()
  expect(nodes[0].asked).toEqual(['net_version', 'net_version'])
  expect(rpc.together).toBeUndefined()
})

test('nodes are compared only while the pool is in use, and seldom', async () => {
  const { nodes, asks, pass } = await setUp(2)
  const [, second] = nodes
  const looks = () => second.asked.filter((method) => method === 'eth_chainId').length
  await asks()
  await expect.poll(looks).toBe(1)
  pass(9_000)
  await asks()
  pass(2_000)
  expect(looks(), 'no timer asks').toBe(1)
  // The first look may still be under way; a use after it starts the next one.
  await expect.poll(() => asks().then(looks)).toBe(2)
})

test('work that belongs together is done by one node, and again by the next one if that fails half-way', async () => {
  const { rpc, nodes, looked } = await setUp(2)
  const [first, second] = nodes
  await looked()
  const work = () =>
    onOneNode(rpc, async (node) => {
      const before = await node.call('net_version', [])
      first.down = true
      return [before, await node.call('web3_clientVersion', [])]
    })
  expect(await work()).toEqual([`net_version of ${second.host}`, `web3_clientVersion of ${second.host}`])
})

test.each<[string, (node: FakeNode) => void, RegExp]>([
  ['of another chain', (node) => Object.assign(node, { chainId: 1 }), /chain id 1 instead of 137/],
  [
    'with a number that is too high',
    (node) => Object.assign(node, { height: 900_000 }),
    /names block 900000/,
  ],
  ['from the future', (node) => Object.assign(node, { seconds: node.seconds + 900 }), /names block 1000/],
])('a node %s is left out, named once, and not used even if the other fails', async (_, lie, reason) => {
  const { nodes, asks, looked, leftOut, pass } = await setUp(2)
  const [first, second] = nodes
  lie(first)
  await looked()
  expect(leftOut).toEqual([[first.host, expect.stringMatching(reason)]])
  expect(await asks()).toBe(`net_version of ${second.host}`)
  second.down = true
  await expect(asks()).rejects.toThrow(UnavailableError)
  second.down = false
  pass(60_000)
  await looked()
  expect(leftOut, 'once').toHaveLength(1)
  Object.assign(first, { chainId: 137, height: 1000, seconds: second.seconds })
  pass(10_000)
  await looked()
  expect(await asks(), 'it is good again').toBe(`net_version of ${first.host}`)
})

test('of three nodes, the one that has another final block is left out, even if it is preferred', async () => {
  const { nodes, asks, looked, leftOut } = await setUp(3)
  nodes[0].branch = '7'
  await looked()
  expect(leftOut).toEqual([[nodes[0].host, 'has another block 900 than the other nodes']])
  expect(await asks()).toBe(`net_version of ${nodes[1].host}`)
})

test.each([
  { blockMs: 2_000, fine: 5, lag: 6 },
  { blockMs: 250, fine: 40, lag: 41 },
  { blockMs: 12_000, fine: 3, lag: 4 },
])('a node that lags is used only if no other answers: %o', async ({ blockMs, fine, lag }) => {
  const { nodes, asks, looked, leftOut, pass } = await setUp(2, blockMs)
  const [first, second] = nodes
  first.height = 1000 - fine
  await looked()
  expect(leftOut).toEqual([])
  first.height = 1000 - lag
  pass(10_000)
  await looked()
  expect(leftOut).toEqual([[first.host, `is at block ${1000 - lag}, ${lag} behind another node`]])
  expect(await asks()).toBe(`net_version of ${second.host}`)
  second.down = true
  expect(await asks()).toBe(`net_version of ${first.host}`)
})

test.each([401, 402])(
  'a node that answers HTTP %i did not answer: the next one gets the call',
  async (status) => {
    const { nodes, asks, looked } = await setUp(2)
    const [first, second] = nodes
    await looked()
    first.locked = status
    expect(await asks()).toBe(`net_version of ${second.host}`)
    first.asked.length = 0
    expect(await asks()).toBe(`net_version of ${second.host}`)
    expect(first.asked, 'it rests').toEqual([])
  },
)

test.each([200, 403, 404])(
  'a node that answers errors to everything (HTTP %i) is left out while another one answers',
  async (status) => {
    const { nodes, asks, looked, leftOut, pass } = await setUp(2)
    const [first, second] = nodes
    first.locked = status
    await looked()
    expect(leftOut).toEqual([[first.host, 'answers errors instead of its chain id and its latest block']])
    expect(await asks()).toBe(`net_version of ${second.host}`)
    first.locked = undefined
    pass(10_000)
    await looked()
    expect(await asks(), 'it is good again').toBe(`net_version of ${first.host}`)
  },
)

test('a node of another chain is not used when it begins to answer errors', async () => {
  const { nodes, asks, looked } = await setUp(2)
  const [first, second] = nodes
  first.chainId = 1
  await looked()
  first.locked = 200
  await looked()
  second.down = true
  first.locked = undefined
  await expect(asks()).rejects.toThrow(/HTTP 503/)
})

test('no alert and no error contains more of a URL than its host', async () => {
  const { nodes, asks, looked, leftOut } = await setUp(2)
  nodes[0].chainId = 1
  await looked()
  nodes[1].down = true
  const error = await asks().catch((cause: unknown) => cause)
  expect(JSON.stringify([leftOut, String(error)])).not.toContain('secret-key')
})
