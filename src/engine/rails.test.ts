import { describe, expect, test } from 'vitest'
import { testCore } from '../../test/engine/test-core.ts'
import { MAINNET, SELLER, TESTNET, testRail } from '../../test/engine/test-rail.ts'
import { testChallenge } from '../../test/engine/test-rows.ts'
import { UnavailableError } from '../errors.ts'
import { offerAgain } from './core.ts'
import { openRails, railTermsOf } from './rails.ts'

const DAI = {
  ...TESTNET,
  token: { ...TESTNET.token, address: `0x${'da'.repeat(20)}` as const, decimals: 18 },
}
const before = `0x${'0b'.repeat(20)}` as const
const preferred = testRail()
const onMainnet = testRail({ network: MAINNET, payTo: `0x${'77'.repeat(20)}` })
const inDai = testRail({ network: DAI })
const { core, alerts } = testCore({ rails: [preferred, onMainnet, inDai] })
const { rails } = core
const shown = (offered: ReturnType<typeof rails.offered>) =>
  offered.map(({ id, amount, payTo }) => [id, amount, payTo])

describe('a rail', () => {
  test('is found by its id', () => {
    expect(rails.all.map(({ id }) => id)).toEqual([preferred.id, onMainnet.id, inDai.id])
    expect(rails.preferred).toBe(rails.all[0])
    expect(rails.find(onMainnet.id)).toBe(rails.all[1])
    expect(rails.of({ rail: inDai.id })).toBe(rails.all[2])
  })

  test('that is not configured makes its rows unavailable', () => {
    expect(rails.find('eip155:1/0x0/exact')).toBeUndefined()
    expect(() => rails.of({ rail: 'eip155:1/0x0/exact' })).toThrow(UnavailableError)
    expect(() => rails.of({ rail: 'eip155:1/0x0/exact' })).toThrow('eip155:1/0x0/exact')
  })

  test('has its own chain head', () => {
    const { clock, alerts } = core
    const [one, other] = openRails([preferred, onMainnet], { clock, alerts }).all
    one!.head.weigh({ number: 7, timestamp: 1 }, { number: 7, timestamp: 1 })
    expect([one!.head.number, other!.head.number]).toEqual([7, 0])
  })

  test('is the least that a gateway needs', () => {
    expect(() => testCore({ rails: [] })).toThrow('at least one rail')
  })
})

test('rows are grouped by their rail, and those of a rail that is not configured are left alone', () => {
  const row = (key: string, rail: string) => ({ key, rail })
  const rows = [
    row('a', inDai.id),
    row('b', preferred.id),
    row('c', 'eip155:1/0x0/exact'),
    row('d', inDai.id),
  ]
  expect(rails.group(rows).map(([rail, some]) => [rail.id, some.map(({ key }) => key)])).toEqual([
    [inDai.id, ['a', 'd']],
    [preferred.id, ['b']],
  ])
  expect(rails.group([])).toEqual([])
  rails.group(rows)
  expect(
    alerts.filter(({ kind }) => kind === 'rail-missing'),
    'the operator is told once',
  ).toEqual([{ kind: 'rail-missing', message: expect.stringContaining('eip155:1/0x0/exact') }])
})

test('alerts of one of several rails name its network', () => {
  const [one] = rails.all
  one!.alerts.raise('job-failed', 'resolve: down')
  expect(alerts.at(-1)?.message).toBe('Base Sepolia: resolve: down')
  const { core: single, alerts: plain } = testCore()
  single.rails.preferred.alerts.raise('job-failed', 'resolve: down')
  expect(plain.at(-1)?.message).toBe('resolve: down')
})

describe('what is offered', () => {
  test('is every rail in the seller’s order, the price in units of its token', () => {
    expect(shown(rails.offered('1500000'))).toEqual([
      [preferred.id, '1500000', SELLER],
      [onMainnet.id, '1500000', onMainnet.payTo],
      [inDai.id, '1500000000000000000', SELLER],
    ])
  })

  test('is the same list for the same price, so that a rendering of it can be cached', () => {
    expect(rails.offered('10')).toBe(rails.offered('10'))
    expect(rails.offered('10')).not.toBe(rails.offered('11'))
    const challenge = testChallenge({ key: 'http-1', amount: '10' })
    expect(rails.offeredOf(challenge)).toBe(rails.offered('10'))
    expect(offerAgain(core, challenge, 'again').rails).toBe(rails.offered('10'))
  })

  test('stays right after more prices than are cached', () => {
    for (let micro = 1; micro <= 2500; micro++) rails.offered(String(micro))
    expect(shown(rails.offered('1'))[0]).toEqual([preferred.id, '1', SELLER])
    expect(rails.offered('1')).toBe(rails.offered('1'))
  })
})

describe('a stored challenge', () => {
  const challenge = testChallenge({ key: 'http-1', amount: '10', payTo: before })

  test('keeps the recipient that it was opened with, on its own rail', () => {
    expect(rails.termsOn(challenge, preferred)).toEqual({ amount: '10', payTo: before })
    expect(shown(rails.offeredOf(challenge))).toEqual([
      [preferred.id, '10', before],
      [onMainnet.id, '10', onMainnet.payTo],
      [inDai.id, '10000000000000', SELLER],
    ])
  })

  test('is paid to the configured recipient on every other rail', () => {
    expect(rails.termsOn(challenge, onMainnet)).toEqual({ amount: '10', payTo: onMainnet.payTo })
    expect(rails.termsOn(challenge, inDai)).toEqual({ amount: '10000000000000', payTo: SELLER })
  })

  test('whose rail is no longer configured is offered on the configured rails', () => {
    const gone = testChallenge({ key: 'http-1', amount: '10', rail: 'eip155:1/0x0/exact', payTo: before })
    expect(shown(rails.offeredOf(gone))).toEqual(shown(rails.offered('10')))
  })

  test('stores network, token and recipient of its rail', () => {
    expect(railTermsOf(onMainnet)).toEqual({
      rail: onMainnet.id,
      network: MAINNET.id,
      asset: MAINNET.token.address,
      payTo: onMainnet.payTo,
    })
  })
})

test('a transaction is shown at the explorer of its network', () => {
  expect(rails.explorerTxUrl(MAINNET.id)).toBe(MAINNET.explorerTxUrl)
  expect(rails.explorerTxUrl('eip155:1')).toBe(TESTNET.explorerTxUrl)
})

test('offers of metered calls name the wallet that can pay for the gas now, in the same list while it is the same', () => {
  const [first, second] = [`0x${'01'.repeat(20)}` as const, `0x${'02'.repeat(20)}` as const]
  let funded: typeof first | typeof second = first
  const metered = testRail({
    scheme: {
      name: 'upto',
      metered: { charged: (signed) => signed },
      offerExtra: (wallet = first) => ({ facilitatorAddress: wallet }),
    },
    settlement: { fundedWallet: () => funded },
  })
  const { core } = testCore({ rails: [testRail(), metered] })
  const offer = () => core.rails.offered('10', true)
  const before = offer()
  expect(before).toMatchObject([{ extra: { facilitatorAddress: first } }])
  expect(offer()).toBe(before)
  funded = second
  expect(offer()).toMatchObject([{ extra: { facilitatorAddress: second } }])
  expect(offer()).toBe(offer())
  expect(core.rails.offered('10')[0]).not.toHaveProperty('extra')
})
