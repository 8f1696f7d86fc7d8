import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { answerOf, bytesOf, decodeContent } from './backend-answer.ts'

const deep = Buffer.from('['.repeat(5000) + ']'.repeat(5000))
const big = '{"id":9007199254740993,"wei":1e400,"price":1.10}'
const bigRead = { id: 9007199254740992, wei: Number.POSITIVE_INFINITY, price: 1.1 }
const utf16 = Buffer.from('hi', 'utf16le')

describe('a body keeps its type', () => {
  test.each<[string | undefined, Buffer, object]>([
    ['application/json', Buffer.from('{"a":[1,null]}'), { body: { a: [1, null] } }],
    ['application/problem+json; charset=utf-8', Buffer.from('"x"'), { body: 'x' }],
    ['Text/CSV;charset=UTF-8', Buffer.from('a,ü\n'), { body: 'a,ü\n' }],
    ['text/plain', Buffer.from('\ufeffBOM'), { body: '\ufeffBOM' }],
    ['application/json', Buffer.alloc(0), { body: null }],
    [undefined, Buffer.alloc(0), { body: null }],
    [undefined, Buffer.from('?'), { body: '?' }],
    [undefined, Buffer.from('{"a":[1,null]}'), { body: { a: [1, null] } }],
    [undefined, Buffer.from('{"a":1} and more'), { body: '{"a":1} and more' }],
    [undefined, Buffer.from(' [1.0]\n'), { body: [1] }],
    [undefined, Buffer.from('1.10'), { body: '1.10' }],
    [undefined, Buffer.from('1e400'), { body: '1e400' }],
    [undefined, Buffer.from('"hello"'), { body: '"hello"' }],
    [undefined, Buffer.from('null'), { body: 'null' }],
    [undefined, Buffer.from('true\n'), { body: 'true\n' }],
    ['application/json', Buffer.from('1.10'), { body: 1.1 }],
    ['application/json', Buffer.from('null'), { body: null }],
    [undefined, Buffer.from(big), { body: bigRead, text: big }],
    [undefined, deep, { body: deep.toString() }],
    [undefined, utf16, { body: utf16.toString('base64'), encoding: 'base64' }],
    [undefined, Buffer.from([0x89, 0x50]), { body: 'iVA=', encoding: 'base64' }],
    ['application/octet-stream', Buffer.from('{}'), { body: 'e30=', encoding: 'base64' }],
    ['image/png', Buffer.from([0x89, 0x50]), { body: 'iVA=', encoding: 'base64' }],
    ['application/json', Buffer.from('{'), { body: 'ew==', encoding: 'base64' }],
    ['application/json', deep, { body: deep.toString('base64'), encoding: 'base64' }],
    ['application/json', Buffer.from(big), { body: bigRead, text: big }],
    ['text/plain', Buffer.from(big), { body: big }],
    ['text/plain', Buffer.from([0xff]), { body: '/w==', encoding: 'base64' }],
    ['text/plain; charset=utf-16le', utf16, { body: utf16.toString('base64'), encoding: 'base64' }],
  ])('%s', (contentType, bytes, expected) => {
    expect(answerOf(200, contentType, bytes)).toEqual({
      status: 200,
      ...(contentType && { contentType }),
      ...expected,
    })
  })
})

test('more bytes than allowed are not read, and the stream is ended', async () => {
  let ended = false
  async function* endless() {
    try {
      for (;;) yield Buffer.alloc(100)
    } finally {
      ended = true
    }
  }
  expect(await bytesOf(endless(), 250)).toBe(undefined)
  expect(ended).toBe(true)
  async function* exact() {
    yield Buffer.alloc(250)
  }
  expect((await bytesOf(exact(), 250))?.length).toBe(250)
})

describe('content codings', () => {
  const text = Buffer.from('x'.repeat(500))
  test.each([
    ['gzip', gzipSync(text)],
    ['X-GZip', gzipSync(text)],
    ['deflate', deflateSync(text)],
    ['br', brotliCompressSync(text)],
    ['identity', text],
    ['', text],
  ])('%j is decoded', async (encoding, bytes) => {
    expect(await decodeContent(bytes, encoding, 500)).toEqual(text)
  })

  test('a bomb, damage or an unknown coding is not', async () => {
    expect(await decodeContent(gzipSync(text), 'gzip', 499)).toBe(undefined)
    expect(await decodeContent(Buffer.from('no gzip'), 'gzip', 500)).toBe(undefined)
    expect(await decodeContent(text, 'constructor', 500)).toBe(undefined)
  })
})
