import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CREATE2_DEPLOYER, SETTLER, SETTLER_CODE } from '../../src/chain/settler.ts'
import { createGateway } from '../../src/gateway.ts'
import { type DevChain, startDevChain } from '../../src/testing/index.ts'
import { placeSettler } from '../settlement/place-settler.ts'
import { cli } from './cli-terminal.ts'
import { TOKEN_SECRET } from './world.ts'

let chain: DevChain
let env: Record<string, string>
beforeAll(async () => {
  chain = await startDevChain()
  env = {
    SVC_MANAGED_INFRA: 'none',
    SVC_WALLET_ADDRESS: chain.account(0).address,
    RPC_URL: chain.rpcUrl,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    SETTLER_CONTRACT: 'true',
  }
})
afterAll(() => chain.stop())

const open = () =>
  createGateway({
    walletAddress: chain.account(0).address,
    rpcUrl: chain.rpcUrl,
    gasWalletPrivateKey: chain.account(1).privateKey,
    settlerContract: true,
    plans: [{ planId: 'basic', unitAmount: '$1.00' }],
    tokenSecret: TOKEN_SECRET,
    store: 'memory',
  })
const codeThere = () => chain.client.getCode({ address: SETTLER })
const doctor = async () => {
  const { findings } = JSON.parse((await cli(env, 'doctor', '--json')).output)
  return findings.find(({ name }: { name: string }) => name === 'SETTLER_CONTRACT')
}

test('without the contract nothing starts, and the message says what to run', async () => {
  const named = `Base Sepolia (eip155:84532) at ${SETTLER}. Run: paystile deploy-settler --network base-sepolia`
  await expect(open()).rejects.toThrow(`settlerContract is set, but the settler contract is not on ${named}`)
  expect(await doctor()).toMatchObject({ level: 'error', message: expect.stringContaining(named) })
})

test.each([
  [
    'without a gas wallet',
    { GAS_WALLET_PRIVATE_KEY: '', FACILITATOR_URL: 'http://127.0.0.1:9', SETTLER_CONTRACT: '' },
    'GAS_WALLET_PRIVATE_KEY is not set: a gas wallet of yours has to pay for the deployment.',
  ],
  [
    'with a wallet that is empty',
    { GAS_WALLET_PRIVATE_KEY: `0x${'5e'.repeat(32)}` },
    'holds 0.000000 ETH on Base Sepolia, and deploying may cost',
  ],
])('%s nothing is deployed', async (_, differing, message) => {
  const { code, output, errors } = await cli({ ...env, ...differing }, 'deploy-settler')
  expect([code, output + errors]).toEqual([1, expect.stringContaining(message)])
  expect(await codeThere()).toBeUndefined()
})

test('where the deployment proxy is missing, the command says so', async () => {
  const proxy = (await chain.client.getCode({ address: CREATE2_DEPLOYER }))!
  await chain.client.setCode({ address: CREATE2_DEPLOYER, bytecode: '0x' })
  const { code, output } = await cli(env, 'deploy-settler')
  await chain.client.setCode({ address: CREATE2_DEPLOYER, bytecode: proxy })
  expect([code, output]).toEqual([1, expect.stringContaining(`Base Sepolia at ${CREATE2_DEPLOYER}`)])
})

test('while the wallet has transactions under way, it takes none of their nonces', async () => {
  const { account, address } = chain.account(1)
  await chain.setAutomine(false)
  await chain.client.sendTransaction({ account, to: address })
  const { code, output } = await cli(env, 'deploy-settler')
  await chain.mine()
  await chain.setAutomine(true)
  expect([code, output]).toEqual([1, expect.stringContaining('transactions under way')])
})

/** The chain's RPC, except that it takes no transactions. */
async function startRefusingNode(message: string) {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks).toString()
    const { id, method } = JSON.parse(body)
    if (method === 'eth_sendRawTransaction') {
      return response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32000, message } }))
    }
    const headers = { 'content-type': 'application/json' }
    response.end(await (await fetch(chain.rpcUrl, { method: 'POST', headers, body })).text())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, stop: () => server.close() }
}

test('of a node that does not take the deployment, its words are told', async () => {
  const node = await startRefusingNode('only allowlisted senders')
  const { code, output } = await cli({ ...env, RPC_URL: node.url }, 'deploy-settler')
  node.stop()
  expect([code, output]).toEqual([
    1,
    expect.stringContaining('the node did not accept the deployment: only allowlisted senders'),
  ])
})

test('it is deployed once; again, it is there already; and then a gateway starts', async () => {
  const first = await cli(env, 'deploy-settler', '--network', 'base-sepolia')
  expect([first.code, first.errors]).toEqual([0, ''])
  expect(first.output).toMatch(
    new RegExp(`Base Sepolia \\(eip155:84532\\): .* was deployed by 0x[0-9a-f]{64}, at ${SETTLER}`),
  )
  expect(first.output).toContain('contracts/settler-input.json')
  expect(first.output).toContain('SETTLER_CONTRACT=true')
  expect(await codeThere()).toBe(SETTLER_CODE)
  const address = chain.account(1).address
  const sent = await chain.client.getTransactionCount({ address })
  const again = JSON.parse((await cli(env, 'deploy-settler', '--json')).output)
  expect(again).toMatchObject({ ok: true, address: SETTLER, results: [{ status: 'there' }] })
  expect(await chain.client.getTransactionCount({ address })).toBe(sent)
  expect(await doctor()).toMatchObject({ level: 'ok' })
  await (await open()).close()
})

// The last one: the chain stays as it is.
test('other code at that address is refused at the start and by the command', async () => {
  await placeSettler(chain, `${SETTLER_CODE}00`)
  await expect(open()).rejects.toThrow('has other code than the settler contract')
  const { code, output } = await cli(env, 'deploy-settler')
  expect([code, output]).toEqual([1, expect.stringContaining('has other code than the settler contract')])
})
