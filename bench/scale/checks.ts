import { type BatchGas, fitBatchGas, paymentsPerBlock } from './block-gas.ts'
import type { InstancesCell } from './measure-instances.ts'
import type { WalletsCell } from './measure-wallets.ts'
import {
  bindingOf,
  COST_NAMES,
  deviationOf,
  loadsOf,
  predictBinding,
  predictEach,
  TOLERANCES,
  unitCostsOf,
} from './unit-costs.ts'

/** One prediction beside what came. */
export interface Check {
  what: string
  predicted: string
  measured: string
  /** Absent where words are compared. */
  deviation?: number
  tolerance?: number
  pass: boolean
}

const digits = (value: number): string =>
  value >= 100 ? String(Math.round(value)) : value.toPrecision(3).replace(/\.?0+$/, '')

function compare(what: string, predicted: number, measured: number, tolerance: number): Check {
  const deviation = deviationOf(predicted, measured)
  return {
    ...{ what, predicted: digits(predicted), measured: digits(measured), deviation, tolerance },
    pass: deviation <= tolerance,
  }
}

/** The part that is nearest to its limit; two that are as good as equally near are both right. */
function compareBinding<Name extends string>(
  what: string,
  predicted: Name,
  loads: Record<Name, number>,
): Check {
  const measured = bindingOf(loads)
  return { what, predicted, measured, pass: loads[predicted] >= 0.9 * loads[measured] }
}

const WORDS = {
  instanceCpuMs: 'CPU ms of the instances',
  storeCpuMs: 'CPU ms of Postgres',
  statements: 'statements',
  writes: 'writing transactions',
  walBytes: 'bytes of WAL',
} as const

/** What is said of more instances, from one. */
export function instancesFormula(unit: string, one: InstancesCell): string[] {
  const costs = unitCostsOf(one.busy, one.idle)
  return COST_NAMES.map((name) => {
    const { each, idlePerSecond } = costs[name]
    return `${WORDS[name]} per ${unit} = ${digits(each)} + ${digits(idlePerSecond)} × instances × seconds / ${unit}s, within ${TOLERANCES[name] * 100}%`
  })
}

export function checkInstances(
  unit: string,
  one: InstancesCell,
  more: readonly InstancesCell[],
  cores: number,
): Check[] {
  const costs = unitCostsOf(one.busy, one.idle)
  return more.flatMap(({ busy }) => {
    const at = `${unit}, ${busy.instances} instances`
    return [
      ...COST_NAMES.map((name) =>
        compare(
          `${at}: ${WORDS[name]}`,
          predictEach(costs[name], busy),
          busy[name] / busy.units,
          TOLERANCES[name],
        ),
      ),
      compareBinding(
        `${at}: what binds`,
        predictBinding(one.busy, busy.instances, cores),
        loadsOf(busy, cores),
      ),
    ]
  })
}

const PER_BLOCK_TOLERANCE = 0.2
const STREAM_CPU_TOLERANCE = 0.3

export interface WalletsPrediction {
  gas: BatchGas
  /** Payments in a transaction. */
  batch: number
  perBlock: number
  blocks: number
  cpuMsEach: number
  binding: ReturnType<typeof bindingOf<keyof WalletsCell['streamed']['loads']>>
}

/** What is said of any number of gas wallets, from one: they carry nonces, and neither gas nor CPU. */
export function predictWallets(one: WalletsCell, waiting: number, blockGas: number): WalletsPrediction {
  const gas = fitBatchGas(one.batches)
  const batch = Math.round(one.batches.reduce((sum, { payments }) => sum + payments, 0) / one.batches.length)
  const perBlock = paymentsPerBlock(blockGas, gas, batch)
  return {
    ...{ gas, batch, perBlock, blocks: Math.ceil(waiting / perBlock) },
    ...{ cpuMsEach: one.streamed.cpuMsEach, binding: bindingOf(one.streamed.loads) },
  }
}

/** Of a cell with one wallet, only what was not taken from it. */
export function checkWallets(prediction: WalletsPrediction, cell: WalletsCell): Check[] {
  const { perBlock, blocks, cpuMsEach, binding } = prediction
  const { wallets, streamed } = cell
  const at = `${wallets} gas wallet${wallets === 1 ? '' : 's'}`
  const waited = [
    compare(`${at}: payments in a full block`, perBlock, cell.perBlock[0]!, PER_BLOCK_TOLERANCE),
    // A block more or less: batches are of different sizes.
    compare(`${at}: blocks until the last is served`, blocks, cell.perBlock.length, 1 / blocks),
  ]
  if (wallets === 1) return waited
  return [
    ...waited,
    compare(
      `${at}: CPU ms per purchase, blocks at their time`,
      cpuMsEach,
      streamed.cpuMsEach,
      STREAM_CPU_TOLERANCE,
    ),
    compareBinding(`${at}: what binds, blocks at their time`, binding, streamed.loads),
  ]
}
