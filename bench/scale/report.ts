import { figure, markdownTable } from '../report.ts'
import { FULL_BATCH, fitBatchGas, gasUsedOf } from './block-gas.ts'
import { carriedBy, instancesPerStore, networkCapacities, STORE_CORES } from './capacity.ts'
import type { Check } from './checks.ts'
import type { InstancesCell } from './measure-instances.ts'
import type { WalletsCell } from './measure-wallets.ts'
import { type UnitCosts, unitCostsOf } from './unit-costs.ts'

export interface ScaleResults {
  at: string
  machine: string
  /** One instance first. */
  bought: InstancesCell[]
  called: InstancesCell[]
  /** Four instances with one gas wallet. */
  sharedWallet: InstancesCell
  /** Four instances, accounts that call any of them. */
  spread: InstancesCell
  wallets: WalletsCell[]
  waiting: number
  checks: Check[]
}

export function checkRows(checks: readonly Check[]): string[][] {
  const percent = (share: number | undefined) => (share === undefined ? '' : `${Math.round(share * 100)}%`)
  return [
    ['prediction', 'predicted', 'measured', 'off by', 'at most', 'kept'],
    ...checks.map(({ what, predicted, measured, deviation, tolerance, pass }) => [
      ...[what, predicted, measured, percent(deviation), percent(tolerance)],
      pass ? 'yes' : 'no',
    ]),
  ]
}

function costRow(name: string, { busy }: InstancesCell): string[] {
  const each = (value: number) => figure(value / busy.units)
  return [
    ...[name, each(busy.instanceCpuMs), each(busy.storeCpuMs), each(busy.statements), each(busy.writes)],
    ...[each(busy.walBytes), each(busy.rowBytes), each(busy.rpcCalls)],
  ]
}

function unitCostRows({ bought, called, sharedWallet, spread }: ScaleResults): string[][] {
  const names = (unit: string, cells: readonly InstancesCell[]) =>
    cells.map((cell) => {
      const { instances } = cell.busy
      return costRow(`${unit}, ${instances} instance${instances === 1 ? '' : 's'}`, cell)
    })
  return [
    [
      'measured, each',
      'CPU ms of instances',
      'CPU ms of Postgres',
      'statements',
      'writes',
      'WAL bytes',
      'row bytes',
      'RPC calls',
    ],
    ...names('purchase', bought),
    costRow('purchase, 4 instances, one gas wallet for all', sharedWallet),
    ...names('prepaid call', called),
    costRow('prepaid call, 4 instances, accounts call any of them', spread),
  ]
}

function carriedRows(unit: string, costs: UnitCosts): string[][] {
  return [1, 10, 1000].map((instances) => {
    const { byInstances, byStore } = carriedBy(instances, costs)
    return [
      `${unit}, ${figure(instances).replace(/\.0+$/, '')} instance${instances === 1 ? '' : 's'}`,
      ...[figure(byInstances), figure(byStore), figure(Math.min(byInstances, byStore))],
      byInstances <= byStore ? "the instances' CPU" : 'Postgres',
    ]
  })
}

/** What docs/scale.md shows of the last run, between its two marks. */
export function docsSection(results: ScaleResults): string {
  const { bought, called, wallets, waiting, checks } = results
  const costs = {
    purchase: unitCostsOf(bought[0]!.busy, bought[0]!.idle),
    call: unitCostsOf(called[0]!.busy, called[0]!.idle),
  }
  const gas = fitBatchGas(wallets[0]!.batches)
  const { busy, idle } = bought[0]!
  const million = (each: number) => figure((each / busy.units) * 1_000_000)
  const idleEach = (name: 'instanceCpuMs' | 'storeCpuMs' | 'statements') => figure(idle[name] / idle.seconds)
  const networks = networkCapacities(gas)
  return [
    `Measured ${results.at.slice(0, 10)}, ${results.machine}.`,
    '### What one instance, ten and a thousand carry (calculated)',
    `Per second, from the unit costs below: each instance has a core like the measured one, and all share one Postgres with ${STORE_CORES} such cores.`,
    markdownTable([
      ['', 'the instances can', 'Postgres can', 'carried', 'binds first'],
      ...carriedRows('payments', costs.purchase),
      ...carriedRows('prepaid calls', costs.call),
    ]),
    `Postgres binds above ${instancesPerStore(costs.purchase)} instances that sell, or ${instancesPerStore(costs.call)} that serve prepaid calls.`,
    '### What the chain takes (calculated)',
    `Payments per second if every block were ours, and as many as leave its gas price alone; a batch of ${FULL_BATCH} takes ${figure(gasUsedOf(gas, FULL_BATCH) / FULL_BATCH)} gas each (measured, test token).`,
    markdownTable([
      ['network', 'full blocks', 'at its target', 'batch', 'limits from'],
      ...networks.map((one) => [
        one.name,
        figure(one.perSecond),
        figure(one.perSecondAtTarget),
        String(one.batch),
        one.from,
      ]),
    ]),
    '### What a million sales cost',
    `Under load: ${million(busy.rpcCalls)} calls to the RPC and ${million(busy.rowBytes / 1e9)} GB of rows and indexes, with ${million(busy.walBytes / 1e9)} GB of WAL on the way (measured with one instance, times a million). Gas (calculated, examples and not quotations; a rollup's fee for its data comes on top):`,
    markdownTable([
      ['network', 'gas price, gwei', 'from', 'coin, USD (our table)', 'a million sales, USD'],
      ...networks.map((one) => [
        one.name,
        String(one.gasPriceGwei),
        one.priceFrom,
        `${one.coin} ${one.coinUsd}`,
        figure(one.millionUsd),
      ]),
    ]),
    '### Unit costs (measured)',
    markdownTable(unitCostRows(results)),
    `An idle instance takes ${idleEach('instanceCpuMs')} ms of CPU a second, ${idleEach('storeCpuMs')} ms of Postgres and ${idleEach('statements')} statements.`,
    '### Gas wallets on blocks like Base’s (measured)',
    markdownTable([
      [
        'gas wallets',
        `payments of each block, ${figure(waiting)} waiting`,
        'blocks',
        'per block of 200 ms',
        'gas of the block used',
        'CPU ms each',
      ],
      ...wallets.map(({ wallets: count, perBlock, streamed }) => [
        ...[String(count), perBlock.join(', '), String(perBlock.length), figure(streamed.perBlock)],
        ...[`${figure(streamed.loads['the gas of a block'] * 100)}%`, figure(streamed.cpuMsEach)],
      ]),
    ]),
    '### Predictions, and what came',
    markdownTable(checkRows(checks)),
  ].join('\n\n')
}
