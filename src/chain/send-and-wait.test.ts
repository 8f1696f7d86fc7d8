import { expect, test } from 'vitest'
import { UnavailableError } from '../errors.ts'
import type { RpcAnswer } from './rpc-answer.ts'
import { createSendAndWait } from './send-and-wait.ts'

const RAW = '0x02'
const HASH = `0x${'ab'.repeat(32)}`
const RECEIPT: RpcAnswer = { ok: true, result: { transactionHash: HASH, blockNumber: '0x7' } }
const MINED = { is: 'mined', hash: HASH }
const refusal = (code: number, message: string): RpcAnswer => ({ ok: false, error: { code, message } })

/** A node that gives these answers in turn, the last one for ever. */
function node(...answers: Array<RpcAnswer | Error>) {
  const asked: Array<{ params: readonly unknown[]; timeoutMs: number }> = []
  const time = { nowMs: 0 }
  const sendAndWait = createSendAndWait(
    async (_method, params, timeoutMs) => {
      asked.push({ params, timeoutMs })
      const answer = answers.length > 1 ? answers.shift()! : answers[0]!
      if (answer instanceof Error) throw answer
      return answer
    },
    10_000,
    () => time.nowMs,
  )
  return { asked, time, ...sendAndWait }
}

test('a receipt says that the transaction is in a block; the node gets less time than we wait for it', async () => {
  const { send, isAsked, asked } = node(RECEIPT)
  expect(await send(RAW, 3000)).toEqual(MINED)
  expect(asked).toEqual([{ params: [RAW, 3000], timeoutMs: 4000 }])
  expect(isAsked()).toBe(true)
  await send(RAW, 60_000)
  expect(asked[1]).toEqual({ params: [RAW, 5000], timeoutMs: 6000 })
})

test.each([
  [-32601, 'Method not found'],
  [-32600, 'Unsupported method: eth_sendRawTransactionSync'],
  [-32000, 'the method eth_sendRawTransactionSync does not exist/is not available'],
  [-32004, 'no'],
])('a node that answers %s %s is not asked again', async (code, message) => {
  const { send, isAsked, asked, time } = node(refusal(code, message))
  expect(await send(RAW, 3000)).toBeUndefined()
  time.nowMs = 86_400_000
  expect(await send(RAW, 3000)).toBeUndefined()
  expect(asked).toHaveLength(1)
  expect(isAsked()).toBe(false)
})

test('a node that wants no time gets none from then on', async () => {
  const invalid = refusal(-32602, 'invalid argument 1: json: cannot unmarshal')
  const { send, asked } = node(invalid, RECEIPT)
  expect(await send(RAW, 3000)).toEqual(MINED)
  expect(await send(RAW, 3000)).toEqual(MINED)
  expect(asked.map(({ params }) => params)).toEqual([[RAW, 3000], [RAW], [RAW]])
})

test('a node that refuses every form is not asked again', async () => {
  const { send, asked } = node(refusal(-32602, 'invalid params'))
  expect(await send(RAW, 3000)).toBeUndefined()
  expect(await send(RAW, 3000)).toBeUndefined()
  expect(asked).toHaveLength(2)
})

test('no block in time is a send, and other refusals mean what they mean for the plain call', async () => {
  const { send, isAsked } = node(
    RECEIPT,
    refusal(4, 'the transaction was added to the mempool but was not processed in 3 s'),
    refusal(-32000, 'already known'),
    refusal(-32000, 'nonce too low'),
    refusal(-32000, 'replacement transaction underpriced'),
  )
  await send(RAW, 3000)
  expect(await send(RAW, 3000)).toEqual({ is: 'accepted' })
  expect(await send(RAW, 3000)).toEqual({ is: 'known' })
  expect(await send(RAW, 3000)).toEqual({ is: 'nonce-low' })
  expect(await send(RAW, 3000)).toEqual({ is: 'underpriced' })
  expect(isAsked()).toBe(true)
})

test('whatever else is answered is unknown: the plain call follows', async () => {
  const { send, asked } = node(refusal(6, 'nonce gap'), refusal(5, 'already known, not ready'), RECEIPT)
  expect(await send(RAW, 3000)).toBeUndefined()
  expect(await send(RAW, 3000)).toBeUndefined()
  expect(await send(RAW, 3000)).toEqual(MINED)
  expect(asked).toHaveLength(3)
})

test.each([
  ['no answer', new UnavailableError('the RPC')],
  ['a hash instead of a receipt', { ok: true, result: HASH } as const],
  ['null', { ok: true, result: null } as const],
  ['a receipt without a block', { ok: true, result: { transactionHash: HASH, blockNumber: null } } as const],
])('after %s the node is left alone for some minutes', async (_, answer) => {
  const { send, isAsked, asked, time } = node(RECEIPT, answer, RECEIPT)
  await send(RAW, 3000)
  expect(await send(RAW, 3000)).toBeUndefined()
  expect(isAsked()).toBe(false)
  time.nowMs = 599_999
  expect(await send(RAW, 3000)).toBeUndefined()
  expect(asked).toHaveLength(2)
  time.nowMs = 600_000
  expect(await send(RAW, 3000)).toEqual(MINED)
})
