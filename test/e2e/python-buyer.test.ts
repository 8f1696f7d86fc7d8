import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf } from './documented-commands.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from './routes-world.ts'

let shop: RoutesWorld
let folder: string
beforeAll(async () => {
  shop = await startRoutesWorld()
  folder = mkdtempSync(join(tmpdir(), 'paystile-python-'))
  writeFileSync(
    join(folder, 'buy.py'),
    blocksOf('python.md').find(({ language }) => language === 'python')!.text,
  )
})
afterAll(async () => {
  await shop.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** `npm test` names the Python that has the packages. */
const PYTHON = process.env.PAYSTILE_TEST_PYTHON ?? '/usr/bin/python3'

function buy(key: string, most: string): Promise<{ code: number; output: string; errors: string }> {
  const args = [join(folder, 'buy.py'), `${shop.world.baseUrl}/weather/oslo`, most]
  return new Promise((done) => {
    const env = { BUYER_PRIVATE_KEY: key }
    const child = execFile(PYTHON, args, { env }, (_, output, errors) =>
      done({ code: child.exitCode ?? -1, output, errors }),
    )
  })
}

test('the buyer of docs/python.md pays for a call, once each time, and never above its limit', async () => {
  for (let time = 0; time < 4; time++) {
    const { privateKey, address } = await shop.world.chain.newBuyer({ micro: 1_000_000n })
    const bought = await buy(privateKey, '0.01')
    expect(bought).toMatchObject({ code: 0, errors: '' })
    expect(JSON.parse(bought.output)).toMatchObject({ resource: { body: { url: '/weather/oslo' } } })
    expect(await shop.world.chain.balanceOf(address)).toBe(1_000_000n - CALL_PRICE)
  }
  const { privateKey, address } = await shop.world.chain.newBuyer({ micro: 1_000_000n })
  expect(await buy(privateKey, '0.009')).toEqual({
    code: 1,
    output: '',
    errors: 'It costs 10000 and the limit is 9000: nothing was signed.\n',
  })
  expect(await shop.world.chain.balanceOf(address)).toBe(1_000_000n)
})

test('without money it says what the gateway says', async () => {
  const { privateKey } = await shop.world.chain.newBuyer()
  const { code, errors } = await buy(privateKey, '0.01')
  expect([code, errors]).toEqual([1, expect.stringMatching(/^402: \{.*PAYMENT_FAILED/)])
})
