import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createBlockClock } from '../../chain/block-clock.ts'
import { createMinedSearch } from '../../chain/find-mined.ts'
import { createRpc, type Rpc } from '../../chain/rpc.ts'
import type { RpcPace } from '../../chain/rpc-pace.ts'
import { findNetwork } from '../../protocol/networks.ts'
import { authorizationKey } from './authorization.ts'
import { createUseSearch } from './find-uses.ts'

const network = findNetwork('testnet')!
const KEY = authorizationKey(network, `0x${'b0'.repeat(20)}`, `0x${'01'.repeat(32)}`)
const latest = { number: '0x5dc', hash: `0x${'cc'.repeat(32)}`, timestamp: '0x1' } // 1500

const searchBy = (rpc: Rpc) =>
  createUseSearch({
    rpc,
    network,
    searchMined: createMinedSearch(
      rpc,
      createBlockClock(() => false, 2_000),
    ),
  })

/** A node at block 1500 whose `eth_getLogs` fails when `fails` says so. */
function node(fails: (asked: number, blocks: number) => boolean) {
  const asked: number[] = []
  const attempt: Rpc['attempt'] = async (_method, [filter]) => {
    const { fromBlock, toBlock } = filter as { fromBlock: string; toBlock: string }
    const blocks = Number(toBlock) - Number(fromBlock) + 1
    asked.push(blocks)
    if (fails(asked.length, blocks)) return { ok: false, error: { code: -32000, message: 'sorry' } }
    return { ok: true, result: [] }
  }
  const rpc: Rpc = { attempt, call: async () => latest }
  const { uses } = searchBy(rpc)
  /** Counts the queries of one search through 621 blocks. */
  const look = async () => {
    asked.length = 0
    await uses([KEY], 880)
    return [...asked]
  }
  return { look }
}

test('after nine errors in a row this search needs a few more queries, and the next ones hardly any', async () => {
  let errors = 9
  const { look } = node(() => errors-- > 0)
  expect((await look()).length).toBeLessThan(25)
  expect((await look()).length).toBeLessThan(5)
})

test('a node that allows few blocks per query is asked for more only once', async () => {
  const { look } = node((_, blocks) => blocks > 200)
  await look()
  const queries = await look()
  expect(queries.every((blocks) => blocks <= 200)).toBe(true)
  expect(queries.reduce((sum, blocks) => sum + blocks, 0)).toBe(621)
})

/** A pace without pauses; the pauses are tested elsewhere. */
const noPauses: RpcPace = {
  admit: (calls) => calls,
  waitMs: () => 1,
  accepted: () => {},
  refused: () => {},
  isLimited: () => false,
}

test('a node that says "too fast" nine times is asked for as many blocks at once as before', async () => {
  let refusals = 9
  const asked: number[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { id, method, params } = JSON.parse(body)
    if (method === 'eth_getBlockByNumber') return response.end(JSON.stringify({ id, result: latest }))
    asked.push(Number(params[0].toBlock) - Number(params[0].fromBlock) + 1)
    if (refusals-- > 0) return response.writeHead(429, { 'retry-after': '0' }).end()
    response.end(JSON.stringify({ id, result: [] }))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const rpc = createRpc(url, { timeoutMs: 20_000, maxBytes: 10_000 }, noPauses)
    const { uses } = searchBy(rpc)
    await uses([KEY], 880)
    expect(asked).toEqual(Array(10).fill(621))
    asked.length = 0
    await uses([KEY], 880)
    expect(asked).toEqual([621])
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
