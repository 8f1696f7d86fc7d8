import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PRICE, startWorld, type World } from '../e2e/world.ts'
import { readCalldata, sendsOf, signedPayload } from './forge.ts'
import { WAYS, type Way } from './ways.ts'

const STRANGER = '0x00000000000000000000000000000000000000bb'
const plan = (requestId: string, planId = 'basic') => ({ planId, requestId })

// Over HTTP the same attacks, and more of them, are in the files of their own.
describe.each(['A2A', 'MCP'] as const)('over %s', (name) => {
  let world: World
  let way: Way
  beforeAll(async () => {
    world = await startWorld({ options: { mcp: true, settleWaitSeconds: 1 } })
    way = WAYS[name](world)
  })
  afterAll(() => world.stop())

  const newBuyer = () => world.chain.newBuyer({ micro: 5n * PRICE })

  async function bought(requestId: string) {
    const buyer = await newBuyer()
    const { accepted } = await way.ask(plan(requestId))
    const payload = await signedPayload(buyer, accepted)
    const grant = await way.pay(payload, plan(requestId))
    expect(grant.accessToken).toBeTruthy()
    return { buyer, accepted, payload, grant, sends: await sendsOf(world), books: await world.ledger(buyer) }
  }
  type Bought = Awaited<ReturnType<typeof bought>>

  async function expectNothingMoved({ sends, books }: Pick<Bought, 'sends' | 'books'>) {
    expect(await sendsOf(world)).toBe(sends)
    expect(await books.changes()).toEqual({ seller: 0n, buyers: [0n] })
  }

  test(`attack 1: over ${name}, the same payload 100 times at once settles once, with identical results`, async () => {
    const buyer = await newBuyer()
    const { accepted } = await way.ask(plan('one'))
    const payload = await signedPayload(buyer, accepted)
    const sends = await sendsOf(world)
    const pay = () => way.pay(payload, plan('one'))
    const first = await Promise.all(Array.from({ length: 100 }, pay))
    // Requests that were asked to send the same again do so.
    const answers = await Promise.all(first.map((said) => (said.accessToken ? said : pay())))
    expect(answers[0]!.accessToken).toBeTruthy()
    expect(new Set(answers.map(({ accessToken, txHash }) => `${accessToken} ${txHash}`)).size).toBe(1)
    expect(await sendsOf(world)).toBe(sends + 1)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test(`attack 2: over ${name}, a settled payload under another requestId is refused`, async () => {
    const sale = await bought('two')
    const { accepted } = await way.ask(plan('two-b'))
    const moved = await way.pay({ ...sale.payload, accepted }, plan('two-b'))
    expect(moved).toMatchObject({ code: 'TX_ALREADY_REDEEMED' })
    expect(moved.accessToken).toBeUndefined()
    await expectNothingMoved(sale)
  })

  test(`attack 3: over ${name}, a payload for another plan is refused, spent or not`, async () => {
    const buyer = await newBuyer()
    const books = await world.ledger(buyer)
    const sends = await sendsOf(world)
    const basic = await way.ask(plan('three'))
    const pro = await way.ask(plan('three-pro', 'pro'))
    const unspent = await signedPayload(buyer, basic.accepted)
    const moved = await way.pay({ ...unspent, accepted: pro.accepted }, plan('three-pro', 'pro'))
    expect(moved).toMatchObject({ code: 'AMOUNT_MISMATCH' })
    await expectNothingMoved({ sends, books })
    const sale = await bought('three-b')
    const spent = await way.pay({ ...sale.payload, accepted: pro.accepted }, plan('three-pro', 'pro'))
    expect(spent).toMatchObject({ code: 'TX_ALREADY_REDEEMED' })
    await expectNothingMoved(sale)
  })

  test.each([
    ['amount', '1', 'AMOUNT_MISMATCH'],
    ['payTo', STRANGER, 'INVALID_PROOF'],
    ['asset', STRANGER, 'INVALID_PROOF'],
    ['network', 'eip155:8453', 'INVALID_PROOF'],
  ])(`attack 4: over ${name}, a forged accepted.%s is refused`, async (field, value, code) => {
    const buyer = await newBuyer()
    const books = await world.ledger(buyer)
    const sends = await sendsOf(world)
    const { accepted } = await way.ask(plan(`four-${field}`))
    const payload = await signedPayload(buyer, accepted)
    const forged = { ...payload, accepted: { ...accepted, [field]: value } }
    expect(await way.pay(forged, plan(`four-${field}`))).toMatchObject({ code })
    await expectNothingMoved({ sends, books })
  })

  test(`attack 12: over ${name}, a payload rebuilt from public calldata buys nothing`, async () => {
    const sale = await bought('twelve')
    const payload = await readCalldata(world, sale.grant.txHash!)
    const { accepted } = await way.ask(plan('twelve-thief'))
    const stolen = await way.pay({ x402Version: 2, payload, accepted }, plan('twelve-thief'))
    expect(stolen).toMatchObject({ code: 'TX_ALREADY_REDEEMED' })
    expect(stolen.text).not.toContain(sale.grant.accessToken)
    await expectNothingMoved(sale)
  })

  test(`attack 14: over ${name}, the victim’s requestId without a payment never shows the grant`, async () => {
    const sale = await bought('fourteen')
    const { text } = await way.ask(plan('fourteen'))
    expect(text).not.toContain(sale.grant.accessToken)
    await expectNothingMoved(sale)
  })

  test(`attack 15: over ${name}, the attacker’s own signature on a paid challenge is not settled`, async () => {
    const sale = await bought('fifteen')
    const attacker = await newBuyer()
    const { accepted } = await way.ask(plan('fifteen'))
    const answer = await way.pay(await signedPayload(attacker, accepted), plan('fifteen'))
    expect(answer).toMatchObject({ code: 'INVALID_PROOF' })
    expect(answer.text).not.toContain(sale.grant.accessToken)
    expect(await world.flows(attacker)).toEqual({ paid: [], refunded: [] })
    await expectNothingMoved(sale)
  })

  test(`attack 17: over ${name}, while a payment is unresolved no second one is sent`, async () => {
    const buyer = await newBuyer()
    const { accepted } = await way.ask(plan('seventeen'))
    const [first, second] = [await signedPayload(buyer, accepted), await signedPayload(buyer, accepted)]
    await world.chain.setAutomine(false)
    expect(await way.pay(first, plan('seventeen'))).toMatchObject({ code: 'SETTLEMENT_PENDING' })
    const sends = await sendsOf(world)
    expect(await way.pay(second, plan('seventeen'))).toMatchObject({ code: 'SETTLEMENT_PENDING' })
    expect(await sendsOf(world)).toBe(sends)
    await world.chain.setAutomine(true)
    await world.chain.mine()
    const granted = await way.pay(first, plan('seventeen'))
    expect(granted.accessToken).toBeTruthy()
    expect((await way.pay(second, plan('seventeen'))).accessToken).toBe(granted.accessToken)
    expect(await world.flows(buyer)).toEqual({ paid: [PRICE], refunded: [] })
  })

  test(`attack 18: over ${name}, a new authorization after delivery gets the grant and is not settled`, async () => {
    const sale = await bought('eighteen')
    const anew = await signedPayload(sale.buyer, sale.accepted)
    expect((await way.pay(anew, plan('eighteen'))).accessToken).toBe(sale.grant.accessToken)
    await expectNothingMoved(sale)
  })
})
