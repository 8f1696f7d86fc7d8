import { z } from 'zod'
import { dollarsToMicro, PriceString, priceFault } from './amount.ts'

/** How much of a metered route's answers may go out before they are paid. */
export const StreamRule = z.strictObject({
  /** To one payer, those under way and those of today (UTC) that were never paid. */
  maxUnpaidPerPayer: PriceString,
  /** To all payers together. */
  maxUnpaid: PriceString,
})
export type StreamRule = z.infer<typeof StreamRule>

/** What is wrong with the rule of a metered route. */
export function streamFaults(route: {
  stream?: StreamRule | undefined
  maxAmount?: string | undefined
  raw?: boolean | undefined
}): string[] {
  const { stream, maxAmount, raw } = route
  if (!stream) return []
  const faults: string[] = []
  if (raw !== true) faults.push('has stream, but its answers are wrapped; say raw: true')
  const [perPayer, inAll, most] = [stream.maxUnpaidPerPayer, stream.maxUnpaid, maxAmount].map((price) =>
    price === undefined || priceFault(price) ? undefined : dollarsToMicro(price),
  )
  if (perPayer !== undefined && most !== undefined && perPayer < most)
    faults.push(
      `would never stream: stream.maxUnpaidPerPayer is ${stream.maxUnpaidPerPayer}, less than the ${maxAmount} of one call`,
    )
  if (perPayer !== undefined && inAll !== undefined && inAll < perPayer)
    faults.push(
      `has a stream.maxUnpaid of ${stream.maxUnpaid}, less than the ${stream.maxUnpaidPerPayer} of one payer`,
    )
  return faults
}
