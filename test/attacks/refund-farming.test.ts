import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld, sunny } from '../e2e/routes-world.ts'
import { eventually } from '../e2e/world.ts'

const CAP = 20

describe('attack 35: calls that fail on purpose, to be refunded at our cost', () => {
  let routes: RoutesWorld
  beforeAll(async () => {
    routes = await startRoutesWorld({ store: 'embedded', options: { refundMinAgeSeconds: 5 } })
  })
  afterAll(() => routes.stop())

  test('after twenty of them in one day nothing more is charged; what is owed is paid, and the operator gets an alert', async () => {
    const { world, backend } = routes
    const farmer = await world.chain.newBuyer({ micro: CALL_PRICE * BigInt(CAP + 5) })
    const books = await world.ledger(farmer)
    backend.answer = (_call, response) => response.writeHead(404).end()
    const fail = async (turn: number) => {
      const { header, required } = await routes.signFor(farmer, `/weather/${turn}`)
      return { answer: await routes.call(`/weather/${turn}`, {}, header), header, required }
    }

    const failures = []
    for (let turn = 1; turn <= CAP; turn++) failures.push(await fail(turn))
    for (const { answer } of failures) {
      expect(answer).toMatchObject({ status: 200, body: { resource: { status: 404 } } })
    }
    const seen = backend.seen.length
    const refused = await fail(CAP + 1)
    expect(refused.answer).toMatchObject({
      status: 429,
      body: { code: 'RATE_LIMITED', message: expect.stringContaining('Nothing was charged') },
    })
    expect(Number(refused.answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await fail(CAP + 2)).answer.status).toBe(429)
    expect(backend.seen).toHaveLength(seen)
    const told = world.alerts.filter(({ kind }) => kind === 'refund-farming')
    expect(told, 'once').toMatchObject([{ message: expect.stringContaining(farmer.address.toLowerCase()) }])

    // Still so for a new life of the gateway: the count is in the store.
    await world.restart()
    expect((await fail(CAP + 3)).answer.status).toBe(429)

    // Others are served, and so are the farmer's plans: only calls cost us refunds.
    const other = await world.chain.newBuyer({ micro: CALL_PRICE })
    const { header } = await routes.signFor(other, '/weather/bergen')
    backend.answer = sunny
    expect((await routes.call('/weather/bergen', {}, header)).status).toBe(200)

    for (const { required } of failures) await world.until(required.challengeId, 'REFUNDED')
    const { refunded } = await eventually(async () => {
      const flows = await world.flows(farmer)
      return flows.refunded.length === CAP && flows
    })
    expect(refunded).toEqual(Array.from({ length: CAP }, () => CALL_PRICE))
    expect(await books.changes()).toMatchObject({ buyers: [0n] })
  }, 180_000)
})

describe('attack 42: concurrent failing calls, to exceed the cap on undelivered calls', () => {
  let routes: RoutesWorld
  beforeAll(async () => {
    routes = await startRoutesWorld({ options: { settleWaitSeconds: 5 } })
  })
  afterAll(() => routes.stop())

  test('of many concurrent calls no more reach the backend than may stay undelivered, and nothing is charged for the others', async () => {
    const { world, backend } = routes
    const farmer = await world.chain.newBuyer({ micro: CALL_PRICE * 60n })
    const books = await world.ledger(farmer)
    backend.answer = (_call, response) => response.writeHead(404).end()
    const headers = await Promise.all(
      Array.from(
        { length: 60 },
        async (_, turn) => (await routes.signFor(farmer, `/weather/${turn}`)).header,
      ),
    )
    const answers = await Promise.all(
      headers.map((header, turn) => routes.call(`/weather/${turn}`, {}, header)),
    )
    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(CAP)
    expect(statuses.filter((status) => status === 429)).toHaveLength(60 - CAP)
    expect(backend.seen).toHaveLength(CAP)
    expect(await books.changes()).toMatchObject({ buyers: [-CALL_PRICE * BigInt(CAP)] })
  }, 120_000)

  test('an honest payer with as many concurrent calls gets them all', async () => {
    const { world, backend } = routes
    const payer = await world.chain.newBuyer({ micro: CALL_PRICE * 60n })
    backend.answer = sunny
    const headers = await Promise.all(
      Array.from({ length: 60 }, async (_, turn) => (await routes.signFor(payer, `/weather/${turn}`)).header),
    )
    const answers = await Promise.all(
      headers.map((header, turn) => routes.call(`/weather/${turn}`, {}, header)),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  }, 120_000)
})
