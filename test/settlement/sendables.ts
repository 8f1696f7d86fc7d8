import type { Batch, Sendable, Store, WalletTxRow } from '../../src/ports.ts'
import type { Address } from '../../src/protocol/hex.ts'

const account = (digit: string): Address => `0x${digit.repeat(40)}`

export const signed = {
  from: account('a'),
  to: account('b'),
  value: '1',
  validAfter: '0',
  validBefore: '9',
  nonce: '0x01',
  signature: '0x02',
} as const

/** A payment that is ready to be sent; fake chains do not look inside it. */
export const sendable = (key: string, change: Partial<Sendable> = {}): Sendable => ({
  member: { kind: 'payment', key },
  signed,
  alone: false,
  batchLimit: null,
  ...change,
})

export const sendables = (count: number, prefix = 'p'): Sendable[] =>
  Array.from({ length: count }, (_, index) => sendable(`${prefix}${index}`))

export const rowOf = (batch: Batch): WalletTxRow => batch.puts[0]!.row

/** The step that stores a batch; false if another one took its nonce. */
export const storeBatch = async (store: Store, batch: Batch): Promise<boolean> =>
  (await store.commit({ puts: batch.puts })).kind === 'applied'
