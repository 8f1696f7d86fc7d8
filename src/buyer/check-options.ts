import { priceFault } from '../protocol/amount.ts'
import { sameHex } from '../protocol/hex.ts'
import { BuyerError } from './buyer-error.ts'
import { allowedNetworks, BUYER_NETWORKS } from './buyer-networks.ts'
import type { BuyerOptions } from './buyer-options.ts'
import { checkOptionTypes } from './check-option-types.ts'

const MIN_VALID_SECONDS = 30
/** A longer validity is refused by our gateway and by others. */
export const MAX_VALID_SECONDS = 3600
/** What a token can declare. */
const MAX_DECIMALS = 36

/** Throws if a limit is malformed: a limit that does not mean what its author thinks protects nothing. */
export function checkOptions(options: BuyerOptions): void {
  checkOptionTypes(options)
  const refuse = (message: string) => new BuyerError('BAD_OPTION', message)
  for (const name of ['maxAmount', 'maxTotal', 'maxPlanAmount'] as const) {
    const price = options[name]
    const fault = name !== 'maxAmount' && price === undefined ? undefined : priceFault(String(price))
    if (fault) throw refuse(`${name} ${fault}`)
  }
  const { credits = 'use', maxPlanAmount } = options
  if (!['use', 'buy', 'off'].includes(credits)) {
    throw refuse(`credits is ${JSON.stringify(credits)}; it can be "use", "buy" or "off"`)
  }
  if (maxPlanAmount !== undefined && credits !== 'buy') {
    throw refuse('maxPlanAmount limits the plans that fetch buys, which it does with credits: "buy" alone')
  }
  const { metered = 'use', approvePermit2 = false } = options
  if (!['use', 'prefer', 'off'].includes(metered)) {
    throw refuse(`metered is ${JSON.stringify(metered)}; it can be "use", "prefer" or "off"`)
  }
  if (typeof approvePermit2 !== 'boolean') {
    const fault = priceFault(String(approvePermit2))
    if (fault) throw refuse(`approvePermit2 is true, or an amount, which ${fault}`)
  }
  if (approvePermit2 && !options.account.signTransaction) {
    throw refuse('approvePermit2 needs an account that signs transactions, such as a local account of viem')
  }
  for (const host of options.allowedHosts ?? []) {
    const read = URL.canParse(`https://${host}`) ? new URL(`https://${host}`).host : ''
    if (read !== host.toLowerCase()) {
      throw refuse(
        `allowedHosts has ${JSON.stringify(host)}; a host is for example "api.example.com" or "localhost:3000"`,
      )
    }
  }
  for (const { id, asset, decimals } of allowedNetworks(options.networks).networks) {
    const usdc = BUYER_NETWORKS.find((network) => network.id === id)?.asset
    const allowed = [...(options.allowedAssets ?? []), ...(usdc === undefined ? [asset] : [usdc])]
    if (!allowed.some((address) => sameHex(address, asset))) {
      throw refuse(
        `networks names token ${asset} on ${id}, whose USDC is ${usdc}; if it is meant, add it to allowedAssets`,
      )
    }
    if (
      decimals !== undefined &&
      !(Number.isInteger(decimals) && decimals >= 0 && decimals <= MAX_DECIMALS)
    ) {
      throw refuse(`networks gives token ${asset} ${decimals} decimals; it can be 0 to ${MAX_DECIMALS}`)
    }
  }
  const { validSeconds = MIN_VALID_SECONDS } = options
  if (!(validSeconds >= MIN_VALID_SECONDS && validSeconds <= MAX_VALID_SECONDS)) {
    throw refuse(`validSeconds is ${validSeconds}; it can be ${MIN_VALID_SECONDS} to ${MAX_VALID_SECONDS}`)
  }
}
