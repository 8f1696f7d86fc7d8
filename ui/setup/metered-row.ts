import type { Route } from '../shared/wire.ts'

/** How a metered route is charged, as it is typed. Its maximum is the row's `maxPrice`. */
export interface MeteredRow {
  /** The buyer signs the maximum, and is charged what the call cost. */
  metered: boolean
  chargePer: string
  chargeUnit: string
  /** Empty: not said, which means `maximum`. */
  chargeIfUnstated: '' | 'maximum' | 'nothing'
  stream: boolean
  streamPerPayer: string
  streamAll: string
}

export const unmetered = (): MeteredRow => ({
  metered: false,
  chargePer: '',
  chargeUnit: '',
  chargeIfUnstated: '',
  stream: false,
  streamPerPayer: '',
  streamAll: '',
})

type Metering = Pick<Route, 'scheme' | 'charge' | 'chargeIfUnstated' | 'stream'>

export const meteredRow = ({ scheme, charge, chargeIfUnstated, stream }: Metering): MeteredRow => ({
  metered: scheme !== undefined,
  chargePer: String(charge?.per ?? ''),
  chargeUnit: withoutSign(charge?.unitAmount),
  chargeIfUnstated: chargeIfUnstated ?? '',
  stream: stream !== undefined,
  streamPerPayer: withoutSign(stream?.maxUnpaidPerPayer),
  streamAll: withoutSign(stream?.maxUnpaid),
})

/** What is left empty is left out, so that the server says which part is missing. */
export function meteringOf(row: MeteredRow): Record<string, unknown> {
  const charge = {
    ...(row.chargePer.trim() !== '' && { per: row.chargePer.trim() }),
    ...(row.chargeUnit.trim() !== '' && { unitAmount: dollars(row.chargeUnit) }),
  }
  const stream = {
    ...(row.streamPerPayer.trim() !== '' && { maxUnpaidPerPayer: dollars(row.streamPerPayer) }),
    ...(row.streamAll.trim() !== '' && { maxUnpaid: dollars(row.streamAll) }),
  }
  return {
    scheme: 'upto',
    ...(Object.keys(charge).length > 0 && { charge }),
    ...(row.chargeIfUnstated !== '' && { chargeIfUnstated: row.chargeIfUnstated }),
    ...(row.stream && { stream }),
  }
}

export const withoutSign = (price: unknown): string => String(price ?? '').replace(/^\$/, '')

/** The dollar sign is shown before the box; if it is typed too, the meaning is the same. */
export const dollars = (price: string): string => `$${price.trim().replace(/^\$/, '')}`
