import type { CheckAnswer } from '../shared/wire.ts'
import { DURATION_HELP } from './duration.ts'
import { missingWords } from './missing-words.ts'

/** A fault in a plan or route, with its row and cell if the message names them. */
export interface RowMessage {
  /** The row's key; undefined: the list as a whole. */
  row: number | undefined
  cell: string | undefined
  text: string
}

/** `PLANS[1].unitAmount "1.0" must start with "$"` belongs to the cell `unitAmount` of the second row that was sent. */
export function rowMessages(
  name: 'PLANS' | 'ROUTES',
  answer: CheckAnswer | undefined,
  keys: readonly number[],
  withMissing: boolean,
): RowMessage[] {
  const own = <T extends { name: string | null }>(list: T[] | undefined): T[] =>
    list?.filter((item) => item.name === name) ?? []
  const missing = withMissing ? own(answer?.missing) : []
  const absent = missing.map((found) => ({ row: undefined, cell: undefined, text: missingWords(found) }))
  const faults = own(answer?.faults).map(({ message }) => {
    const match = new RegExp(`^${name}(?:_FILE)?\\[(\\d+)\\](?:\\.([\\w.]+))? (.*)$`, 's').exec(message)
    if (!match) return { row: undefined, cell: undefined, text: capitalise(message.replace(`${name} `, '')) }
    const [, index, cell, rest = ''] = match
    const metered = meteredMessage(cell, rest)
    if (metered) return { row: keys[Number(index)], ...metered }
    const isNoTime = cell === 'tokenTtlSeconds' && rest.startsWith('is a text')
    return {
      row: keys[Number(index)],
      cell: cell ?? /^has (?:no|both free: true and a) (\w+)/.exec(rest)?.[1],
      text: isNoTime ? DURATION_HELP : capitalise(rest),
    }
  })
  return [...absent, ...faults]
}

/** Faults that lie between two settings of a metered route: at the box that mends them, in the words of the form. */
const METERED: ReadonlyArray<readonly [RegExp, string, string]> = [
  [
    /^has scheme "upto" without a maxAmount/,
    'maxAmount',
    'Say the most that a call costs, for example 0.02.',
  ],
  [
    /^would never stream: stream\.maxUnpaidPerPayer is (\S+), less than the (\S+) of one call/,
    'stream.maxUnpaidPerPayer',
    '$1 is less than the $2 of one call, so nothing would ever be streamed.',
  ],
  [
    /^has a stream\.maxUnpaid of (\S+), less than the (\S+) of one payer/,
    'stream.maxUnpaid',
    '$1 is less than the $2 of one buyer.',
  ],
]

/** What is asked for where one of two boxes is empty. */
const EMPTY: Record<string, string> = {
  'charge.per':
    'Say where the answer has the count, for example /usage/total_tokens, or leave its price empty too.',
  'charge.unitAmount': 'Say what one of the count costs, for example 0.000002, or leave the count empty too.',
  'stream.maxUnpaidPerPayer': 'Say a limit, for example 0.10.',
  'stream.maxUnpaid': 'Say a limit, for example 5.00.',
}

function meteredMessage(cell: string | undefined, rest: string): { cell: string; text: string } | undefined {
  const asked = rest.startsWith('is missing') && cell !== undefined ? EMPTY[cell] : undefined
  if (cell !== undefined) return asked === undefined ? undefined : { cell, text: asked }
  for (const [pattern, box, words] of METERED) {
    const found = pattern.exec(rest)
    if (found)
      return { cell: box, text: words.replace(/\$(\d)/g, (_all, place) => found[Number(place)] ?? '') }
  }
  return undefined
}

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
