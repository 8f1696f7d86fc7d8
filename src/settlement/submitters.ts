import type { GasPolicy } from '../chain/gas-fees.ts'
import type { Alerts, Chain, Clock, Facilitator, Settlement, Store, Turns, TxSigner } from '../ports.ts'
import { createFacilitatorSettlement } from './facilitator-settlement.ts'
import { createGasWallet } from './gas-wallet.ts'

/** Few enough for a wallet with little of the chain's coin, and enough to save nearly all the gas that sharing can save. */
const REFUNDS_PER_TX = 10

/**
 * What submits authorizations to the chain. Payments: the gas wallets or the facilitator. Refunds, in this order: the
 * gas wallets, the refund wallet if it can pay for gas, the facilitator. `settlement` maintains the transactions of all of
 * them.
 */
export function createSubmitters(
  parts: {
    chainId: number
    chain: Chain
    store: Store
    clock: Clock
    alerts: Alerts
    turns?: Turns | undefined
    gas?: GasPolicy
  },
  way:
    | { kind: 'gas-wallet'; signers: readonly TxSigner[] }
    | { kind: 'facilitator'; facilitator: Facilitator },
  refundWallet?: TxSigner,
): { settlement: Settlement; refundSubmitters: readonly Settlement[] } {
  const { gas, ...shared } = parts
  const signers = way.kind === 'gas-wallet' ? way.signers : []
  // Two lanes over one wallet would propose the same nonces.
  const isGasWallet = signers.some(({ address }) => address === refundWallet?.address)
  const self =
    refundWallet && !isGasWallet
      ? createGasWallet({
          ...shared,
          ...gas,
          signers: [refundWallet],
          maxCallsPerTx: REFUNDS_PER_TX,
          // No alert about its balance: gas in the refund wallet is optional, and the other submitters report if none
          // is left.
          alerts: {
            raise: (kind, message) => void (kind === 'job-failed' && shared.alerts.raise(kind, message)),
          },
        })
      : undefined
  if (way.kind === 'gas-wallet') {
    const settlement = createGasWallet({ ...shared, ...gas, signers, alsoKeeps: self?.lanes ?? [] })
    return { settlement, refundSubmitters: self ? [settlement, self] : [settlement] }
  }
  const facilitator = createFacilitatorSettlement(way.facilitator)
  if (!self) return { settlement: facilitator, refundSubmitters: [facilitator] }
  return { settlement: { ...facilitator, maintain: self.maintain }, refundSubmitters: [self, facilitator] }
}
