import { expect, test } from 'vitest'
import type { Forwarded } from '../../engine/outcome.ts'
import { createOpenLimit } from './open-limit.ts'
import { createPassOn } from './pass-on.ts'
import type { OutcomeRenderer } from './render-outcome.ts'

const render = {
  failure: (error: { code: string }) => ({ status: 500, headers: {}, body: error.code }),
} as unknown as OutcomeRenderer
const spoken = {} as never

function passing(unreadMs = 60_000) {
  const passOn = createPassOn({ openLimit: createOpenLimit(1) }, render, unreadMs)
  const pass = (forwarded: Forwarded | Promise<Forwarded>, client: string | undefined = 'a') =>
    passOn(client, async () => forwarded, spoken)
  return {
    pass,
    async isFull() {
      const answer = await pass(new Response(null))
      return !(answer instanceof Response) && answer.body === 'RATE_LIMITED'
    },
  }
}

/** A body that never ends, and whether it was given up. */
function endless() {
  const seen = { isCancelled: false }
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(Buffer.from('x')),
    cancel() {
      seen.isCancelled = true
    },
  })
  return { seen, body }
}

test('an answer takes a place until its body has ended', async () => {
  const { pass, isFull } = passing()
  const answer = (await pass(new Response('whole', { status: 203 }))) as Response
  expect(await isFull()).toBe(true)
  expect([answer.status, await answer.text()]).toEqual([203, 'whole'])
  expect(await isFull()).toBe(false)
})

test('no place is kept where there is no answer, no body, or nobody who reads on', async () => {
  const { pass, isFull } = passing()
  await pass({ status: 504, reason: 'silence' })
  await expect(pass(Promise.reject(new Error('broken')))).rejects.toThrow('broken')
  await pass(new Response(null, { status: 204 }))
  const { seen, body } = endless()
  const answer = (await pass(new Response(body))) as Response
  await answer.body!.cancel()
  expect(seen.isCancelled).toBe(true)
  expect(await isFull()).toBe(false)
})

test('a client that stops reading loses the answer, and its source is told', async () => {
  const { pass, isFull } = passing(20)
  const { seen, body } = endless()
  const reader = ((await pass(new Response(body))) as Response).body!.getReader()
  await reader.read()
  await expect(reader.closed).rejects.toThrow('read nothing for 0.02 s')
  expect(seen.isCancelled).toBe(true)
  expect(await isFull()).toBe(false)
})

test('a source that is silent while its client waits may take its time', async () => {
  const { pass } = passing(20)
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) =>
        new Promise((said) =>
          setTimeout(() => {
            controller.enqueue(Buffer.from('late'))
            controller.close()
            said()
          }, 80),
        ),
    },
    { highWaterMark: 0 },
  )
  expect(await ((await pass(new Response(body))) as Response).text()).toBe('late')
})

test('where nobody is counted there is no limit', async () => {
  const passOn = createPassOn({}, render)
  const unnamed = createPassOn({ openLimit: createOpenLimit(0) }, render)
  expect(await passOn('a', async () => new Response('1'), spoken)).toMatchObject({ status: 200 })
  expect(await unnamed(undefined, async () => new Response('1'), spoken)).toMatchObject({ status: 200 })
})
