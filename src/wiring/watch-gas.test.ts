import { expect, test } from 'vitest'
import { createFakeClock } from '../testing/fake-clock.ts'
import { LOOK_AT_GAS_MS, watchGas } from './watch-gas.ts'

function setUp(gasWallets: Array<`0x${string}`>, networks = 1) {
  let looks = 0
  const rail = {
    gasWallets,
    settlementReady() {
      looks += 1
      return Promise.reject(new Error('the gas wallet is empty'))
    },
  }
  const clock = createFakeClock(0)
  const watch = watchGas(
    Array.from({ length: networks }, () => rail),
    clock,
  )
  return { watch, clock, looks: () => looks }
}

test('the gas wallets of one network are looked at again and again, whatever is found, until it is closed', async () => {
  const { watch, clock, looks } = setUp(['0x01'])
  for (let turn = 0; turn < 3; turn++) await clock.advance(LOOK_AT_GAS_MS)
  expect(looks()).toBe(3)
  watch.stop()
  await clock.advance(LOOK_AT_GAS_MS)
  expect(looks()).toBe(3)
})

test.each([
  ['a facilitator pays the gas', [], 1],
  ['the engine watches several networks', ['0x01'], 2],
] as Array<[string, Array<`0x${string}`>, number]>)(
  'nothing is asked where %s',
  async (_why, wallets, networks) => {
    const { clock, looks } = setUp(wallets, networks)
    await clock.advance(LOOK_AT_GAS_MS)
    expect(looks()).toBe(0)
  },
)
