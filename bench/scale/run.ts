import { readFile, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { plainTable } from '../report.ts'
import { type Check, checkInstances, checkWallets, instancesFormula, predictWallets } from './checks.ts'
import { type InstancesCell, measureCalls, measurePurchases } from './measure-instances.ts'
import { measureWallets, type WalletsCell } from './measure-wallets.ts'
import { PUBLISHED } from './published-limits.ts'
import { checkRows, docsSection, type ScaleResults } from './report.ts'

const MARKS = ['<!-- scale -->', '<!-- /scale -->'] as const

/** `quick` proves that every part runs: its figures mean nothing, are not judged and not kept. */
export async function runScale(root: string, quick: boolean, say: (text: string) => void): Promise<boolean> {
  const rounds = quick ? 1 : 2
  const more = quick ? { instances: [2], wallets: [2] } : { instances: [2, 4], wallets: [2, 4, 8] }
  const purchases = { root, concurrency: 32, units: 500, warmUp: 500, idleSeconds: 5 }
  const calls = { root, concurrency: 32, units: 5000, warmUp: 8000, idleSeconds: 5 }
  const blocks = { blockGas: PUBLISHED.base!.blockGas, blockMs: PUBLISHED.base!.blockMs }
  const small = { concurrency: 8, units: 16, warmUp: 8, idleSeconds: 0.2 }
  const wallets = quick
    ? { root, ...blocks, waiting: 40, streamed: { count: 16, concurrency: 8 }, warmUp: 8 }
    : { root, ...blocks, waiting: 1300, streamed: { count: 600, concurrency: 128 }, warmUp: 500 }
  const cores = cpus().length
  const checks: Check[] = []

  async function instancesOf(
    unit: string,
    measure: (instances: number) => Promise<InstancesCell>,
  ): Promise<InstancesCell[]> {
    const best = (instances: number) =>
      bestOf(
        rounds,
        () => measure(instances),
        ({ busy }) => (busy.instanceCpuMs + busy.storeCpuMs) / busy.units,
        ({ busy }) =>
          say(`${unit}, ${instances} at one Postgres: ${Math.round(busy.units / busy.seconds)}/s`),
      )
    const one = await best(1)
    say(`Predicted for ${more.instances.join(' and ')} instances:`)
    for (const line of instancesFormula(unit, one)) say(`  ${line}`)
    const others: InstancesCell[] = []
    for (const instances of more.instances) others.push(await best(instances))
    checks.push(...checkInstances(unit, one, others, cores))
    return [one, ...others]
  }

  const most = more.instances.at(-1)!
  const bought = await instancesOf('purchase', (instances) =>
    measurePurchases(instances, quick ? { root, ...small } : purchases),
  )
  const sharedWallet = await measurePurchases(most, quick ? { root, ...small } : purchases, 'shared')
  const called = await instancesOf('call', (instances) =>
    measureCalls(instances, quick ? { root, ...small } : calls),
  )
  const spread = await measureCalls(most, quick ? { root, ...small } : calls, 'spread')

  const oneWallet = await measureWallets(1, wallets)
  const prediction = predictWallets(oneWallet, wallets.waiting, wallets.blockGas)
  say(
    `Predicted for ${more.wallets.join(', ')} gas wallets: ${prediction.perBlock} payments in a full block, ${wallets.waiting} in ${prediction.blocks} blocks, bound by ${prediction.binding} while blocks come every ${wallets.blockMs} ms`,
  )
  const walletCells: WalletsCell[] = [oneWallet]
  for (const count of more.wallets) walletCells.push(await measureWallets(count, wallets))
  checks.push(...walletCells.flatMap((cell) => checkWallets(prediction, cell)))

  const results: ScaleResults = {
    at: new Date().toISOString(),
    machine: `${cores} × ${cpus()[0]?.model ?? 'unknown CPU'}, Node ${process.versions.node}`,
    ...{ bought, sharedWallet, called, spread, wallets: walletCells, waiting: wallets.waiting, checks },
  }
  console.log(`\n${plainTable(checkRows(checks))}\n`)
  if (!quick) await keep(root, results)
  return quick || checks.every(({ pass }) => pass)
}

/** Everything else on the machine makes a run dearer, never cheaper. */
async function bestOf<Cell>(
  times: number,
  measure: () => Promise<Cell>,
  cost: (cell: Cell) => number,
  say: (cell: Cell) => void,
): Promise<Cell> {
  let best: Cell | undefined
  for (let turn = 0; turn < times; turn++) {
    const cell = await measure()
    say(cell)
    if (best === undefined || cost(cell) < cost(best)) best = cell
  }
  return best!
}

async function keep(root: string, results: ScaleResults): Promise<void> {
  const text = JSON.stringify(
    results,
    (_name, value) => (typeof value === 'number' ? Number(value.toPrecision(6)) : value),
    2,
  )
  await writeFile(join(root, 'bench/scale/results.json'), `${text}\n`)
  const page = join(root, 'docs/scale.md')
  const before = await readFile(page, 'utf8')
  const head = before.slice(0, before.indexOf(MARKS[0]) + MARKS[0].length)
  const tail = before.slice(before.indexOf(MARKS[1]))
  await writeFile(page, `${head}\n\n${docsSection(JSON.parse(text))}\n\n${tail}`)
}
