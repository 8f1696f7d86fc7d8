import { microToDollars } from '../../protocol/amount.ts'
import type { AdminParts } from './admin-parts.ts'
import { describeNetworks } from './describe-networks.ts'
import { openRefunds, owedOn } from './open-refunds.ts'
import type { ReturnedMoney } from './returned-money.ts'
import type { Range } from './sale-figures.ts'
import type { WatchedWallet } from './wallet-watch.ts'

/** Everything that the dashboard's first screen shows. */
export async function overview(
  { gateway, book, alerts, wallets }: AdminParts,
  range: Range,
  returned: ReturnedMoney,
) {
  const { networks } = gateway.backstage
  const network = networks[0]!
  const several = networks.length > 1
  await book.refresh()
  const open = await openRefunds(gateway.backstage.store, book)
  const failed = open.filter((refund) => refund.failed).length
  const { funnel, revenue, latencyMs, series } = book.report(range)
  const { perNetwork, ...sums } = revenue
  const reading = book.reading()
  const returnedMicro = await returned.since(Date.parse(series[0]!.at))
  return {
    range,
    network: network.id,
    testnet: network.testnet,
    asOf: new Date().toISOString(),
    funnel,
    refunds: { waiting: open.length - failed, failed },
    revenue: {
      ...sums,
      ...(returnedMicro > 0n && {
        returned: { micro: returnedMicro.toString(), usd: microToDollars(returnedMicro) },
      }),
    },
    latencyMs,
    // If the chain cannot be asked, the rest is still shown.
    wallets: await wallets.look((one) => owedOn(one, open)).catch((): WatchedWallet[] => []),
    series,
    alerts: alerts.list(),
    ...(several && { networks: describeNetworks(gateway.backstage, perNetwork) }),
    ...(reading && { reading }),
  }
}
