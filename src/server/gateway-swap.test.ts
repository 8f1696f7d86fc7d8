import { describe, expect, test } from 'vitest'
import { createGatewaySwap } from './gateway-swap.ts'

const request = new Request('http://localhost/')

function fakeGateway(name: string) {
  const events: string[] = []
  const waiting: Array<() => void> = []
  return {
    events,
    answerAll: () => {
      for (const answer of waiting.splice(0)) answer()
    },
    async answer() {
      await new Promise<void>((resolve) => waiting.push(resolve))
      events.push('answered')
      return new Response(name)
    },
    async close() {
      events.push('closed')
    },
  }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe('createGatewaySwap', () => {
  test('the replaced gateway answers the requests that it has before it is closed; the next one answers new requests at once', async () => {
    const swap = createGatewaySwap(() => {})
    const [old, next] = [fakeGateway('old'), fakeGateway('next')]
    swap.swapTo(old)
    const begun = swap.answer(request, {})
    swap.swapTo(next)
    const later = swap.answer(request, {})
    next.answerAll()
    expect(await (await later).text()).toBe('next')
    await turn()
    expect(old.events).toEqual([])
    old.answerAll()
    expect(await (await begun).text()).toBe('old')
    await swap.close()
    expect(old.events).toEqual(['answered', 'closed'])
    expect(next.events).toEqual(['answered', 'closed'])
  })

  test('a response that is not a promise is passed on without one', () => {
    const swap = createGatewaySwap(() => {})
    const response = new Response('now')
    swap.swapTo({ ...fakeGateway('quick'), answer: () => response })
    expect(swap.answer(request, {})).toBe(response)
  })

  test('a replaced gateway that never finishes is closed after the limit, and a failure to close it is reported', async () => {
    const errors: unknown[] = []
    const swap = createGatewaySwap((error) => errors.push(error), 1)
    const broken = { ...fakeGateway('broken'), close: () => Promise.reject(new Error('stuck')) }
    swap.swapTo(broken)
    const begun = swap.answer(request, {})
    swap.swapTo(fakeGateway('next'))
    await swap.close()
    expect(errors).toEqual([new Error('stuck')])
    broken.answerAll()
    await begun
  })
})
