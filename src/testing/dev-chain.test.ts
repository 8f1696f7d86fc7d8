import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createConnection } from 'node:net'
import { encodeFunctionData, type Hex, keccak256, parseEther } from 'viem'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { spawnAnvil } from './anvil-process.ts'
import { type DevChain, startDevChain } from './dev-chain.ts'
import { MULTICALL3_ADDRESS } from './dev-client.ts'
import { usdcAbi } from './usdc-abi.ts'

let chain: DevChain
beforeAll(async () => {
  chain = await startDevChain()
})
afterAll(() => chain.stop())

const alive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

const answers = (port: number) =>
  fetch(`http://127.0.0.1:${port}`, { method: 'POST' }).then(
    () => true,
    () => false,
  )

test('the chain answers like Base Sepolia', async () => {
  expect(await chain.client.getChainId()).toBe(84532)
  expect(chain.network).toBe('eip155:84532')
  expect(await chain.client.readContract({ address: chain.usdc, abi: usdcAbi, functionName: 'name' })).toBe(
    'USDC',
  )
  expect(await chain.client.getCode({ address: MULTICALL3_ADDRESS })).toBeDefined()
})

test('chain 8453 calls its token USD Coin, at the mainnet address', async () => {
  const mainnet = await startDevChain({ chainId: 8453 })
  try {
    expect(mainnet.usdc).toBe('0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913')
    const token = { address: mainnet.usdc, abi: usdcAbi } as const
    expect(await mainnet.client.readContract({ ...token, functionName: 'name' })).toBe('USD Coin')
    expect(await mainnet.client.readContract({ ...token, functionName: 'version' })).toBe('2')
  } finally {
    await mainnet.stop()
  }
})

test('dev accounts hold ETH, buyers hold USDC only', async () => {
  expect(await chain.client.getBalance({ address: chain.account(7).address })).toBe(parseEther('10000'))
  expect(chain.account(0).address).toBe('0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266')
  const buyer = await chain.newBuyer({ micro: 5n })
  expect(await chain.client.getBalance({ address: buyer.address })).toBe(0n)
  expect(await chain.balanceOf(buyer.address)).toBe(5n)
  await chain.fundEth(buyer.address, 7n)
  expect(await chain.client.getBalance({ address: buyer.address })).toBe(7n)
})

test('twenty simultaneous mints to one account all count', async () => {
  const buyer = await chain.newBuyer()
  await Promise.all(Array.from({ length: 20 }, () => chain.mint(buyer.address, 3n)))
  expect(await chain.balanceOf(buyer.address)).toBe(60n)
  expect(await chain.transfersTo(buyer.address)).toHaveLength(20)
})

test('minting works while nothing is mined, and keeps the supply true', async () => {
  const supply = () =>
    chain.client.readContract({ address: chain.usdc, abi: usdcAbi, functionName: 'totalSupply' })
  const before = await supply()
  await chain.setAutomine(false)
  const buyer = await chain.newBuyer({ micro: 9n })
  await chain.setAutomine(true)
  expect(await chain.balanceOf(buyer.address)).toBe(9n)
  expect((await supply()) - before).toBe(9n)
})

test('finalized is two blocks behind latest, and safe one', async () => {
  await chain.mine(4)
  const [latest, safe, finalized] = await Promise.all(
    (['latest', 'safe', 'finalized'] as const).map((blockTag) => chain.client.getBlock({ blockTag })),
  )
  expect(latest!.number! - safe!.number!).toBe(1n)
  expect(latest!.number! - finalized!.number!).toBe(2n)
})

test('a snapshot brings balances back, and time moves by as much as asked', async () => {
  const buyer = await chain.newBuyer({ micro: 5n })
  const snapshot = await chain.snapshot()
  const before = await chain.client.getBlock()
  await chain.mint(buyer.address, 5n)
  await chain.increaseTime(3_600)
  expect((await chain.client.getBlock()).timestamp - before.timestamp).toBeGreaterThanOrEqual(3_600n)
  await chain.revert(snapshot)
  expect(await chain.balanceOf(buyer.address)).toBe(5n)
  expect((await chain.client.getBlock()).hash).toBe(before.hash)
})

test('a reorg removes a transfer, or moves it to another block', async () => {
  const fresh = await startDevChain()
  try {
    const [sender, receiver] = [fresh.account(0), fresh.account(1).address]
    await fresh.mint(sender.address, 100n)
    const request = await fresh.client.prepareTransactionRequest({
      account: sender.account,
      to: fresh.usdc,
      data: transferCall(receiver, 40n),
    })
    const raw = (await sender.account.signTransaction(request as never)) as Hex
    await fresh.client.sendRawTransaction({ serializedTransaction: raw })
    await fresh.client.waitForTransactionReceipt({ hash: keccak256(raw) })
    const height = await fresh.client.getBlockNumber()

    await fresh.reorg(1)
    expect(await fresh.balanceOf(receiver)).toBe(0n)
    expect(await fresh.transfersTo(receiver)).toEqual([])
    expect(await fresh.client.getBlockNumber()).toBe(height)

    await fresh.mine(2)
    await fresh.reorg(2, [{ raw, block: 1 }])
    const [moved] = await fresh.transfersTo(receiver)
    expect(moved).toMatchObject({ transactionHash: keccak256(raw), value: 40n, blockNumber: height + 2n })
    expect(await fresh.balanceOf(receiver)).toBe(40n)

    // The contracts are there even after a reorg back to genesis.
    await fresh.reorg(Number(await fresh.client.getBlockNumber()))
    expect(await fresh.balanceOf(sender.address)).toBe(0n)
  } finally {
    await fresh.stop()
  }
})

test('with a block time, transactions wait for their block', async () => {
  const slow = await startDevChain({ blockTimeSeconds: 1 })
  try {
    const before = await slow.client.getBlockNumber()
    const buyer = await slow.newBuyer({ micro: 5n })
    expect(await slow.balanceOf(buyer.address)).toBe(5n)
    expect(await slow.client.getBlockNumber()).toBeGreaterThan(before)
    expect(await slow.client.getAutomine()).toBe(false)
  } finally {
    await slow.stop()
  }
})

test('stop leaves no process and no folder, and does not wait for a client that stays connected', async () => {
  const brief = await spawnAnvil(['--port', '0'])
  const client = createConnection(brief.port, '127.0.0.1').on('error', () => {})
  await once(client, 'connect')
  expect([alive(brief.pid), existsSync(brief.folder)]).toEqual([true, true])
  await brief.stop()
  expect([alive(brief.pid), existsSync(brief.folder)]).toEqual([false, false])
  client.destroy()
})

test('a chain that ends by itself says so, and one that is stopped does not', async () => {
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    await (await spawnAnvil(['--port', '0'])).stop()
    const crashing = await spawnAnvil(['--port', '0'])
    process.kill(crashing.pid, 'SIGKILL')
    await expect
      .poll(() => told.mock.calls.flat().join(''), { timeout: 30_000 })
      .toMatch(/^The local chain ended by itself \(SIGKILL\)/)
    expect(existsSync(crashing.folder)).toBe(false)
  } finally {
    told.mockRestore()
  }
})

test('a port in use is reported in one line', async () => {
  const port = Number(new URL(chain.rpcUrl).port)
  await expect(spawnAnvil(['--port', String(port)])).rejects.toThrow(/^anvil did not start.*/)
})

test.each(['SIGINT', 'SIGTERM', 'SIGKILL', 'exit'] as const)(
  'anvil ends with its parent: %s',
  async (end) => {
    const parent = spawn(process.execPath, ['--input-type=module', '-e', PARENT_PROGRAM], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const [line] = (await once(parent.stdout, 'data')) as [Buffer]
    const { port, folder } = JSON.parse(line.toString()) as { port: number; folder: string }
    expect(await answers(port)).toBe(true)
    const exited = once(parent, 'exit')
    if (end === 'exit') parent.stdin.end()
    else parent.kill(end)
    expect(await exited).toEqual(end === 'exit' ? [0, null] : [null, end])
    // Checked by its port: the process id of an orphan stays until init has reaped it.
    await expect.poll(() => answers(port), { interval: 10, timeout: 30_000 }).toBe(false)
    await expect.poll(() => existsSync(folder), { interval: 10, timeout: 30_000 }).toBe(false)
  },
)

// The compiled file, since Node 20 cannot run TypeScript: `npm test` builds before it tests.
const compiled = new URL('../../dist/testing/anvil-process.js', import.meta.url).href
const PARENT_PROGRAM = `
  import { spawnAnvil } from ${JSON.stringify(compiled)}
  const anvil = await spawnAnvil(['--port', '0'])
  console.log(JSON.stringify(anvil))
  process.stdin.resume()`

function transferCall(to: Hex, value: bigint): Hex {
  return encodeFunctionData({ abi: usdcAbi, functionName: 'transfer', args: [to, value] })
}
