import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findTooSmall } from './too-small.ts'

let node: Server
let rpcUrl: string
let asked = 0

/** A node that knows its gas price only: 10 gwei. */
beforeAll(async () => {
  node = createServer((request, response) => {
    asked++
    let text = ''
    request.on('data', (part) => {
      text += part
    })
    request.on('end', () => {
      const answer = (call: { id: number }) => ({ jsonrpc: '2.0', id: call.id, result: '0x2540be400' })
      const calls = JSON.parse(text)
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(Array.isArray(calls) ? calls.map(answer) : answer(calls)))
    })
  })
  await new Promise<void>((listening) => node.listen(0, '127.0.0.1', listening))
  rpcUrl = `http://127.0.0.1:${(node.address() as AddressInfo).port}`
})
afterAll(() => new Promise((closed) => node.close(closed)))

/** On Ethereum, 80,000 gas at 10 gwei are 0.0008 coins: $4, and half of $8. */
const options = () => ({
  walletAddress: `0x${'11'.repeat(20)}`,
  network: 'base,ethereum',
  gasWalletPrivateKey: '22'.repeat(32),
  perNetwork: { 8453: { rpcUrl }, 1: { rpcUrl, nativeUsd: 5000 } },
  plans: [
    { planId: 'small', unitAmount: '$7.99' },
    { planId: 'large', unitAmount: '$8.00' },
  ],
  routes: [
    { routeId: 'call', method: 'GET' as const, path: '/call', unitAmount: '$0.01' },
    { routeId: 'free', method: 'GET' as const, path: '/free', free: true },
  ],
})

test('items whose price is too small for a further network are named; the preferred one takes all', async () => {
  expect(await findTooSmall(options())).toEqual([
    { chainId: 1, leastAmount: '$8.00', planIds: ['small'], routeIds: ['call'] },
  ])
  expect(
    await findTooSmall({
      ...options(),
      network: 'ethereum,base',
      perNetwork: { 8453: { rpcUrl: 'http://127.0.0.1:9' } },
    }),
  ).toEqual([])
  expect(await findTooSmall({ ...options(), maxGasShare: 0 })).toEqual([
    { chainId: 1, leastAmount: null, planIds: ['small', 'large'], routeIds: ['call'] },
  ])
})

test('one network asks nothing, and neither does one that a facilitator settles', async () => {
  asked = 0
  expect(await findTooSmall({ ...options(), network: 'base', perNetwork: { 8453: { rpcUrl } } })).toEqual([])
  const perNetwork = { 1: { rpcUrl, facilitatorUrl: 'https://f.example' } }
  expect(await findTooSmall({ ...options(), perNetwork })).toEqual([])
  expect(asked).toBe(0)
})
