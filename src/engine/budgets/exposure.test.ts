import { expect, test } from 'vitest'
import { testCore } from '../../../test/engine/test-core.ts'
import { PAYER, testAttempt } from '../../../test/engine/test-rows.ts'
import type { AuthorizationRow, HoldRow } from '../../ports.ts'
import { createFakeClock } from '../../testing/fake-clock.ts'
import { holdExposure, refuseExposure } from './exposure.ts'
import { putHold, reviewHold, spentHold } from './holds.ts'

function open() {
  const { core, rail, store } = testCore({ clock: createFakeClock(1_000_000) })
  /** A claim of a metered call that may cost 10, as it is stored. */
  async function claim(key: string, change: Partial<AuthorizationRow> = {}) {
    const hold = holdExposure(core, rail, { payer: PAYER, key }, '10')
    const attempt = testAttempt({ key, exposure: hold.key, ...change })
    await store.commit({ puts: [putHold(hold), { table: 'authorizations', row: attempt }] })
    return { attempt, hold }
  }
  const stored = async () =>
    (await store.list('holds', holdExposure(core, rail, { payer: PAYER, key: '' }, '0').ref!)).map(
      ({ key }) => key,
    )
  return { core, store, claim, stored }
}

test('what other calls of the payer may cost counts as long as they are under way', async () => {
  const { core, claim } = open()
  await claim('first')
  const { attempt } = await claim('second')
  expect(await refuseExposure(core, attempt, '20')).toBeUndefined()
  expect(await refuseExposure(core, attempt, '19')).toMatchObject({
    later: true,
    error: { code: 'RATE_LIMITED' },
  })
})

test.each<[string, Partial<AuthorizationRow> | undefined]>([
  ['was released', { phase: 'RELEASED' }],
  ['is gone', undefined],
  ['was claimed again, under another hold', { exposure: 'exposure:84532:another' }],
])('a hold that a crash left does not count once its payment %s', async (_what, change) => {
  const { core, store, claim, stored } = open()
  const { attempt: first, hold } = await claim('first')
  const row = { ...first, version: 1, ...change }
  if (change) await store.commit({ puts: [{ table: 'authorizations', row }] })
  else await store.commit({ puts: [], removes: [{ table: 'authorizations', key: 'first', version: 1 }] })
  const { attempt, hold: own } = await claim('second')
  expect(await refuseExposure(core, attempt, '10')).toBeUndefined()
  expect(await stored(), 'it is given back').toEqual([own.key])
  const again: HoldRow = { ...hold, version: 0, key: `${hold.key}-2` }
  await store.commit({ puts: [putHold(again)] })
  await reviewHold(core, (await store.get('holds', [again.key]))[0]!)
  expect(await stored(), 'nor does a job keep it').toEqual([own.key])
})

test('a hold of a payment that was paid meanwhile counts until it is returned: the funds were looked at before', async () => {
  const { core, store, claim } = open()
  const { attempt: first } = await claim('first')
  const { exposure: _, ...rest } = first
  await store.commit({
    puts: [{ table: 'authorizations', row: { ...rest, version: 1, phase: 'CONFIRMED' } }],
  })
  const { attempt } = await claim('second')
  expect(await refuseExposure(core, attempt, '10')).toMatchObject({ later: true })
})

test('an answered call that could not be charged refuses the next one, unless its payment was released since', async () => {
  const { core, store, claim } = open()
  const { attempt: first, hold } = await claim('first', { phase: 'CHARGED' })
  await store.commit({ puts: [putHold({ ...spentHold(core, hold), version: 1 })] })
  const { attempt } = await claim('second')
  const refused = await refuseExposure(core, attempt, '100')
  expect(refused?.error.message).toContain('An earlier metered call')
  await store.commit({
    puts: [{ table: 'authorizations', row: { ...first, version: 1, phase: 'RELEASED' } }],
  })
  expect(await refuseExposure(core, attempt, '100')).toBeUndefined()
})
