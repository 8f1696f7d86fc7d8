import { expect, test } from 'vitest'
import { rememberSmallBodies } from './known-bodies.ts'

function remembering() {
  const decoded: string[] = []
  const decode = rememberSmallBodies(
    (bytes) => {
      decoded.push(Buffer.from(bytes).toString('hex'))
      return { text: Buffer.from(bytes).toString() }
    },
    ({ text }) => !text.includes('once'),
  )
  return { decode: (text: string | Buffer) => decode(Buffer.from(text)), decoded }
}

test('small bodies are decoded once; large ones, and those that come once, each time', () => {
  const { decode, decoded } = remembering()
  for (const text of ['small', 'once', 'x'.repeat(201)]) {
    expect(decode(text)).toEqual({ text })
    expect(decode(text)).toEqual({ text })
  }
  expect(decoded).toHaveLength(5)
})

test('other bytes are another body, also where they are no UTF-8 and decode to the same text', () => {
  const { decode, decoded } = remembering()
  expect(decode(Buffer.from([0xff]))).toEqual(decode(Buffer.from([0xfe])))
  expect(decoded).toEqual(['ff', 'fe'])
})

test('the memory stays small, whatever is sent', () => {
  const { decode, decoded } = remembering()
  for (let index = 0; index < 1000; index++) decode(`body ${index}`)
  decode('body 999')
  expect(decoded, 'the newest is known').toHaveLength(1000)
  decode('body 0')
  expect(decoded, 'the oldest is forgotten').toHaveLength(1001)
})
