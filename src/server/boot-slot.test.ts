import { describe, expect, test } from 'vitest'
import { createSlot } from './boot-slot.ts'

const request = new Request('http://localhost/')

function occupant(name: string) {
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

describe('createSlot', () => {
  test('the replaced one finishes what it has begun before it is closed; the next answers at once', async () => {
    const slot = createSlot(() => {})
    const [old, next] = [occupant('old'), occupant('next')]
    slot.replace(old)
    const begun = slot.answer(request, {})
    slot.replace(next)
    const later = slot.answer(request, {})
    next.answerAll()
    expect(await (await later).text()).toBe('next')
    await turn()
    expect(old.events).toEqual([])
    old.answerAll()
    expect(await (await begun).text()).toBe('old')
    await slot.close()
    expect(old.events).toEqual(['answered', 'closed'])
    expect(next.events).toEqual(['answered', 'closed'])
  })

  test('an answer that is there at once is handed on without a promise', () => {
    const slot = createSlot(() => {})
    const response = new Response('now')
    slot.replace({ ...occupant('quick'), answer: () => response })
    expect(slot.answer(request, {})).toBe(response)
  })

  test('one that never finishes is closed after the limit, and a failure to close is told', async () => {
    const told: unknown[] = []
    const slot = createSlot((error) => told.push(error), 1)
    const broken = { ...occupant('broken'), close: () => Promise.reject(new Error('stuck')) }
    slot.replace(broken)
    const begun = slot.answer(request, {})
    slot.replace(occupant('next'))
    await slot.close()
    expect(told).toEqual([new Error('stuck')])
    broken.answerAll()
    await begun
  })
})
