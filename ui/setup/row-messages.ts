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
    const match = new RegExp(`^${name}(?:_FILE)?\\[(\\d+)\\](?:\\.(\\w+))? (.*)$`, 's').exec(message)
    if (!match) return { row: undefined, cell: undefined, text: capitalise(message.replace(`${name} `, '')) }
    const [, index, cell, rest = ''] = match
    const isNoTime = cell === 'tokenTtlSeconds' && rest.startsWith('is a text')
    return {
      row: keys[Number(index)],
      cell: cell ?? /^has (?:no|both free: true and a) (\w+)/.exec(rest)?.[1],
      text: isNoTime ? DURATION_HELP : capitalise(rest),
    }
  })
  return [...absent, ...faults]
}

const capitalise = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
