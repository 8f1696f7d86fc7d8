import { createMpp, type Mpp } from '../../src/dialects/mpp/create-mpp.ts'
import { createX402, type X402 } from '../../src/dialects/x402/create-x402.ts'
import type { ReadableRail } from '../../src/dialects/x402/read-payment.ts'
import type { Alerts, Clock, Rail, RefundSigner, Scheme, Settlement, Signed, Store } from '../../src/ports.ts'
import type { Address } from '../../src/protocol/hex.ts'
import { UPTO_PROXY_ADDRESS, UPTO_SCHEME } from '../../src/protocol/permit2.ts'
import { railId } from '../../src/rules/rail-id.ts'
import { authorizationKey, type SignedAuthorization } from '../../src/schemes/exact/authorization.ts'
import { exactRules } from '../../src/schemes/exact/exact-rules.ts'
import type { SignedPermit } from '../../src/schemes/upto/permit.ts'
import { uptoRules } from '../../src/schemes/upto/upto-rules.ts'
import { createSubmitters } from '../../src/settlement/submitters.ts'
import { asAuthorization, type Coupon } from '../schemes/coupon/coupon.ts'
import {
  couponRefunds,
  couponTransactions,
  createCouponScheme,
  pureCouponScheme,
} from '../schemes/coupon/coupon-scheme.ts'
import { type ChainPort, createChainPort } from './chain/chain-port.ts'
import { createPermitPort } from './chain/permit-port.ts'
import type { SimChain } from './chain/sim-chain.ts'
import { createSimRefundSigner, createSimTxSigner, isSigned, signPermit, signText } from './keys.ts'
import type { Outside } from './outside.ts'
import { faultyCall, type Host, never } from './ports/faulty-call.ts'
import { createSimFacilitator } from './ports/sim-facilitator.ts'
import { waitingSends } from './ports/waiting-sends.ts'
import { withPrivateKey } from './secrets.ts'
import { sellsMetered, type Weather } from './weather.ts'
import { address, gasPriceOn, PAY_TO, REFUND_WALLET, type World } from './world.ts'

const BASE_URL = 'http://gateway'

function readableRails(chains: readonly SimChain[]) {
  return chains.map((chain): ReadableRail => {
    const { network, scheme: name } = chain
    const pure = name === 'coupon' ? pureCouponScheme(network.chainId) : exactRules(chain.network)
    return { id: railId(network, name), network, scheme: pure as unknown as Scheme }
  })
}

/** Metered calls are paid on every chain where the token is. */
function meteredChains(chains: readonly SimChain[], weather: Weather): SimChain[] {
  return sellsMetered(weather) ? chains.filter(({ scheme }) => scheme === 'exact') : []
}

/** How buyers and gateways of a history speak: the production dialects. */
export function simX402(chains: readonly SimChain[], weather: Weather): X402 {
  const metered = meteredChains(chains, weather).map(({ network }): ReadableRail => {
    return { id: railId(network, UPTO_SCHEME), network, scheme: uptoRules(network) as unknown as Scheme }
  })
  return createX402([...readableRails(chains), ...metered], BASE_URL)
}

/** The same for MPP, by the clock of one instance. */
export function simMpp(chains: readonly SimChain[], now: () => number): Mpp {
  return createMpp(readableRails(chains), BASE_URL, now)
}

interface Parts {
  store: Store
  clock: Clock
  alerts: Alerts
}

/** The rails of one gateway process: one per chain, and beside it one for metered calls. */
export function createSimRails(outside: Outside, host: Host, parts: Parts): Rail[] {
  const { chains, world } = outside
  const rails = chains.map((chain) => createSimRail(outside, chain, host, parts))
  const metered = meteredChains(chains, world.weather).map((chain) => {
    return createMeteredRail(outside, chain, host, rails[chains.indexOf(chain)]!)
  })
  return [...rails, ...metered]
}

function createMeteredRail(outside: Outside, chain: SimChain, host: Host, exact: Rail): Rail {
  const { world, staleLooks, meter, outages } = outside
  const { network } = chain
  const wallets = gasWalletsIn(world)
  const direct = createPermitPort(world, chain, staleLooks, meter)
  function call<T>(label: string, effect: () => Promise<T>): Promise<T> {
    outside.chainCalls++
    return faultyCall(world, host, label, effect, () => outages.isCutOff(chain))
  }
  const rules = uptoRules(network)
  const scheme: Scheme<SignedPermit> = {
    ...rules,
    metered: {
      ...rules.metered,
      findSettlement: (permit, from) =>
        call('settlement of a permit', () => direct.findSettlement(permit, from)),
    },
    offerExtra: (wallet = wallets[0]!) => ({ assetTransferMethod: 'permit2', facilitatorAddress: wallet }),
    async verify(signed) {
      if (!host.alive) return never()
      const named = signed.spender === UPTO_PROXY_ADDRESS && wallets.includes(signed.facilitator)
      if (!named) return { invalid: 'another spender or facilitator' }
      const isOwn = signed.signature === signPermit(signed, network)
      return isOwn ? { signed, byKey: true } : { invalid: 'not signed by the payer' }
    },
    simulate: (permits) => call('simulate permits', () => direct.simulate(permits)),
    uses: (keys, from, hashes) => call('uses of permits', () => direct.uses(keys, from, hashes)),
    usesIfMined: (keys, from, hashes) =>
      call('uses of permits', () => direct.usesIfMined(keys, from, hashes)),
  }
  return {
    ...exact,
    id: railId(network, UPTO_SCHEME),
    scheme: scheme as unknown as Scheme,
    settlement: { ...exact.settlement, batchSize: 1 },
    refundsBy: exact.id,
    settlers: wallets,
  }
}

/** One rail of one gateway process, over a simulated chain. */
function createSimRail(outside: Outside, chain: SimChain, host: Host, parts: Parts): Rail {
  const { mutation } = outside
  const { network } = chain
  const port = createFaultyPort(outside, chain, host)
  const submitters = createSettlement(outside, chain, host, {
    ...parts,
    chain: port,
    chainId: network.chainId,
  })
  const signer = refundSigner(outside, chain)
  const scheme = chain.scheme === 'coupon' ? couponScheme(chain, port) : exactScheme(chain, port, host)
  return {
    id: railId(network, chain.scheme),
    network,
    payTo: PAY_TO,
    confirmations: outside.world.weather.config.confirmations,
    scheme,
    chain: port,
    settlement: mutation.settlement(withGasPrice(submitters.settlement, chain)),
    refundSubmitters: submitters.refundSubmitters.map(mutation.settlement),
    ...(signer && { refundSigner: signer }),
    transfers: port.transfers,
    async hasSigned(account, text, signature, mayAskCode = () => true) {
      if (!host.alive) return never()
      const hasKey = ['none', 'turns'].includes(chain.token.codes.get(account) ?? 'none')
      return signature === signText(account, text) && (hasKey || mayAskCode())
    },
  }
}

/** It does not change, so that what is lost can be counted in transactions. */
function withGasPrice(settlement: Settlement, { network }: SimChain): Settlement {
  if (settlement.gasWallet === undefined) return settlement
  return { ...settlement, gasPriceWei: async () => gasPriceOn(network) }
}

type FaultyPort = ReturnType<typeof createFaultyPort>

function exactScheme(chain: SimChain, port: FaultyPort, host: Host): Scheme {
  const scheme: Scheme<SignedAuthorization> = {
    ...exactRules(chain.network),
    simulate: port.simulate,
    uses: port.uses,
    usesIfMined: port.usesIfMined,
    async verify(signed) {
      if (!host.alive) return never()
      const code = chain.token.codes.get(signed.from) ?? 'none'
      const good = isSigned(signed, chain.network)
      if (code === 'none' || code === 'turns')
        return good ? { signed, byKey: true } : { invalid: 'not signed by the payer' }
      return port.call('isValidSignature', async () =>
        good ? { signed, byKey: false } : { invalid: 'the wallet says no' },
      )
    },
  }
  return scheme
}

function couponScheme({ network }: SimChain, port: FaultyPort): Scheme {
  return createCouponScheme(
    network.chainId,
    port,
    (auth) => isSigned(auth, network),
    (payer, nonce) => authorizationKey(network, payer as Address, nonce as Address),
  )
}

function createFaultyPort(outside: Outside, chain: SimChain, host: Host) {
  const { world, mutation } = outside
  const direct = mutation.chain(createChainPort(world, chain, outside.staleLooks), chain)
  function call<T>(label: string, effect: () => Promise<T>): Promise<T> {
    // Several rails are watched all the time.
    const watches = outside.chains.length > 1 && (label === 'head' || label === 'wallet')
    if (!watches) outside.chainCalls++
    return faultyCall(world, host, label, effect, () => outside.outages.isCutOff(chain))
  }
  const port: ChainPort = {
    head: () => call('head', () => direct.head()),
    simulate: (auths) => call('simulate', () => direct.simulate(auths)),
    usesIfMined: (keys, fromHeight, hashes) =>
      call('uses', () => direct.usesIfMined(keys, fromHeight, hashes)),
    uses: (keys, fromHeight, hashes) => call('uses', () => direct.uses(keys, fromHeight, hashes)),
    transfers: (txHash) => call('transfers', () => direct.transfers(txHash)),
    mined: (hashes) => call('mined', () => direct.mined(hashes)),
    submit: (raw) => call('submit', () => direct.submit(raw)),
    wallet: (wallet) => call('wallet', () => direct.wallet(wallet)),
  }
  return { ...port, ...waitingSends(world, host, port.submit), call }
}

function refundSigner({ world, mutation }: Outside, { network, scheme }: SimChain): RefundSigner | undefined {
  if (world.weather.refunds === 'no-key') return undefined
  const exact = createSimRefundSigner(refundWalletIn(world), network)
  const signer = scheme === 'coupon' ? couponRefunds(network.chainId, exact) : exact
  return mutation.refundSigner(withPrivateKey(signer))
}

function refundWalletIn({ weather }: World): Address {
  return weather.refunds === 'seller' ? PAY_TO : REFUND_WALLET
}

/** The same keys serve every chain. */
function createSettlement(
  outside: Outside,
  chain: SimChain,
  host: Host,
  parts: Parameters<typeof createSubmitters>[0],
): ReturnType<typeof createSubmitters> {
  const { world } = outside
  const { strategy, refunds } = world.weather
  const txSigner = (wallet: Address) => {
    const signer = createSimTxSigner(wallet)
    return withPrivateKey(chain.scheme === 'coupon' ? couponTransactions(signer) : signer)
  }
  const refunder = refunds === 'no-key' ? undefined : txSigner(refundWalletIn(world))
  if (strategy === 'facilitator') {
    const exact = createSimFacilitator(outside, chain, host)
    const facilitator =
      chain.scheme === 'coupon'
        ? { settle: (coupon: Signed) => exact.settle(asAuthorization(coupon as unknown as Coupon)) }
        : exact
    return createSubmitters(parts, { kind: 'facilitator', facilitator }, refunder)
  }
  const signers = gasWalletsIn(world).map(txSigner)
  return createSubmitters(parts, { kind: 'gas-wallet', signers }, refunder)
}

function gasWalletsIn({ weather }: World): Address[] {
  return Array.from({ length: weather.gasWallets }, (_, index) => address('gaswallt', index + 1))
}
