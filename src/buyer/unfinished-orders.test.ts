import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nameOrder, orderName, unfinishedOrders } from './unfinished-orders.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'paystile-orders-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('the same words are one order until it is finished, and then a new one', () => {
  const first = nameOrder(folder, ['a', undefined])
  expect(nameOrder(folder, ['a', undefined]).id).toBe(first.id)
  expect(nameOrder(folder, ['b']).id).not.toBe(first.id)
  first.finished()
  expect(nameOrder(folder, ['a', undefined]).id).not.toBe(first.id)
})

test('whoever finds an order unfinished reads what was noted first, and nothing else lies there', () => {
  const { id } = nameOrder(folder, ['a'], { what: 'this\nand that' })
  nameOrder(folder, ['a'], { what: 'other' })
  expect(unfinishedOrders(folder)).toEqual([{ id, name: orderName(['a']), note: { what: 'this\nand that' } }])
  expect(readdirSync(join(folder, 'unfinished'))).toHaveLength(1)
  expect(unfinishedOrders(join(folder, 'nowhere'))).toEqual([])
})

test('orders of earlier versions have no note; a file that a power cut left empty names nothing', () => {
  const file = join(folder, 'unfinished', orderName(['a']))
  mkdirSync(join(folder, 'unfinished'))
  writeFileSync(file, 'an-id\n')
  expect(unfinishedOrders(folder)).toEqual([{ id: 'an-id', name: orderName(['a']), note: undefined }])
  const order = nameOrder(folder, ['a'])
  expect(order.id).toBe('an-id')
  order.finished()
  expect(unfinishedOrders(folder)).toEqual([])
  writeFileSync(file, '')
  expect(unfinishedOrders(folder)).toEqual([])
  const { id } = nameOrder(folder, ['a'])
  expect(nameOrder(folder, ['a']).id).toBe(id)
})

test('whoever finishes an order that another process had finished before leaves the next one of the same words', () => {
  const [one, other] = [nameOrder(folder, ['a']), nameOrder(folder, ['a'])]
  one.finished()
  const next = nameOrder(folder, ['a'])
  other.finished()
  expect(nameOrder(folder, ['a']).id).toBe(next.id)
})
