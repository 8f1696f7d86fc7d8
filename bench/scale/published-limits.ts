/** What a network publishes of its blocks, and a gas price as an example. Read on 17 November 2026. */
export interface PublishedLimits {
  blockGas: number
  blockMs: number
  /** Of one transaction; the block's where none is published. */
  transactionGas: number
  /** Gas per second above which its price rises. */
  targetGasPerSecond: number
  from: string
  gasPriceGwei: number
  priceFrom: string
  /** It charges for the gas that a transaction asks for, not for what it used. */
  chargesLimit?: true
}

const MILLION = 1_000_000
/** EIP-7825. */
const CAPPED = 2 ** 24

/** By the word of the network in src/protocol/networks.ts. Test networks have the rules of theirs. */
export const PUBLISHED: Readonly<Record<string, PublishedLimits>> = {
  base: {
    ...{ blockGas: 40 * MILLION, blockMs: 200, transactionGas: CAPPED },
    targetGasPerSecond: (200 * MILLION) / 6,
    from: '[limits](https://docs.base.org/base-chain/network-information/throughput-and-limits) (400M in 2 s, elasticity 6), a tenth of it [since Denim](https://docs.base.org/base-chain/specs/upgrades/denim/overview), [5 November 2026](https://github.com/base/base/pull/4565)',
    gasPriceGwei: 0.005,
    priceFrom: 'least base fee, 19 February 2026',
  },
  ethereum: {
    ...{ blockGas: 60 * MILLION, blockMs: 12_000, transactionGas: CAPPED },
    targetGasPerSecond: (30 * MILLION) / 12,
    from: '[EIP-7935](https://eips.ethereum.org/EIPS/eip-7935); validators may have raised it since',
    gasPriceGwei: 1,
    priceFrom: 'assumed',
  },
  polygon: {
    ...{ blockGas: 140 * MILLION, blockMs: 1_750, transactionGas: CAPPED },
    targetGasPerSecond: (70 * MILLION) / 1.75,
    from: '[May 2026](https://coinmarketcap.com/cmc-ai/polygon-ecosystem-token/latest-updates/), a target of half assumed',
    gasPriceGwei: 25,
    priceFrom: 'least tip, our table of networks',
  },
  arbitrum: {
    ...{ blockGas: 32 * MILLION, blockMs: 250, transactionGas: 32 * MILLION },
    targetGasPerSecond: 10 * MILLION,
    from: '[parameters](https://docs.arbitrum.io/build-decentralized-apps/reference/chain-params): the target over a day; 60M a second for 9 s',
    gasPriceGwei: 0.02,
    priceFrom: 'floor, the same page',
  },
  avalanche: {
    ...{ blockGas: 21 * MILLION, blockMs: 5_000, transactionGas: 21 * MILLION },
    targetGasPerSecond: 2.1 * MILLION,
    from: '[target](https://build.avax.network/blog/gas-target-increase) of 2025, with [ACP-176](https://github.com/avalanche-foundation/ACPs/blob/main/ACPs/176-dynamic-evm-gas-limit-and-price-discovery-updates/README.md): twice the target a second, ten seconds of it at most in one block; it may be more by now',
    gasPriceGwei: 0.052,
    priceFrom: '[seen in September 2026](https://apify.com/jedii_123/avalanche-block-health-pulse)',
  },
  monad: {
    ...{ blockGas: 150 * MILLION, blockMs: 300, transactionGas: 30 * MILLION },
    targetGasPerSecond: 400 * MILLION,
    from: '[summary](https://docs.monad.xyz/zh/developer-essentials/summary); it charges what a transaction asks for',
    gasPriceGwei: 100,
    priceFrom: 'least base fee, the same page',
    chargesLimit: true,
  },
  celo: {
    ...{ blockGas: 30 * MILLION, blockMs: 1_000, transactionGas: CAPPED },
    targetGasPerSecond: 6 * MILLION,
    from: '[deployments](https://docs.celo.org/specs/deployments)',
    gasPriceGwei: 25,
    priceFrom: 'floor, the same page',
  },
  sei: {
    ...{ blockGas: 10 * MILLION, blockMs: 400, transactionGas: 10 * MILLION },
    targetGasPerSecond: 25 * MILLION,
    from: '[differences](https://docs.sei.io/evm/differences-with-ethereum): 10M, also for one transaction (it also says 100M a second)',
    gasPriceGwei: 20,
    priceFrom: '[minimum](https://www.docs.sei.io/dev-gas), undated',
  },
}
