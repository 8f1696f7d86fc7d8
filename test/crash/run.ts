import { randomInt } from 'node:crypto'
import { findSpots } from './find-spots.ts'
import { inLanes, type Lane, openLane } from './lane.ts'
import { type Options, readOptions, USAGE } from './options.ts'
import { drawPoints, idOf, type Point, parseId, STORES } from './points.ts'
import { type Done, openProgress, type Plan, type Progress } from './progress.ts'
import { startStoreServers } from './site.ts'

/** Spots that one run of a scenario reaches and the next does not: others are drawn for them. */
const SPARE = 2

async function main(options: Options): Promise<boolean> {
  const began = performance.now()
  const progress = openProgress(options.file)
  const planned = progress.plan?.stores ?? options.stores ?? [...STORES]
  const stores = options.only.length > 0 ? options.only.map(({ store }) => store) : planned
  const servers = await startStoreServers([...new Set(stores)])
  const lanes = Array.from({ length: options.jobs }, (_, index) => openLane(index, servers))
  try {
    if (options.only.length > 0) return await playOnly(lanes, options.only)
    const plan = progress.plan ? resumed(progress.plan, options) : await makePlan(lanes, options, progress)
    console.log(`seed ${plan.seed}, ${plan.spots.length} spots, progress in ${options.file}`)
    await playPlan(lanes, plan, options, progress)
    summarize(plan, progress.done, performance.now() - began)
    return progress.done.every(({ violations }) => violations.length === 0)
  } finally {
    await Promise.all(lanes.map((lane) => lane.stop()))
    await servers.stop()
  }
}

async function makePlan(lanes: readonly Lane[], options: Options, progress: Progress): Promise<Plan> {
  const { points = 30, stores = [...STORES], seed = randomInt(1, 0xffff_ffff) } = options
  const plan = { seed, points, stores, spots: await findSpots(lanes) }
  progress.begin(plan)
  return plan
}

/** More points of the same run can be asked for; another seed or store would be another run. */
function resumed(plan: Plan, { points, seed, stores, file }: Options): Plan {
  const other = (seed ?? plan.seed) !== plan.seed || (stores ?? plan.stores).join() !== plan.stores.join()
  if (other) throw new Error(`${file} is a run of seed ${plan.seed} over ${plan.stores}; choose another file`)
  return { ...plan, points: points ?? plan.points }
}

async function playPlan(lanes: readonly Lane[], plan: Plan, options: Options, progress: Progress) {
  const { index: part, of } = options.part
  const drawn = drawPoints(plan.spots, plan.stores, plan.points * SPARE, plan.seed)
  const known = new Set(progress.done.map(({ index }) => index))
  const share = Math.floor(plan.points / of) + (part < plan.points % of ? 1 : 0)
  const queue = drawn.flatMap((point, index) =>
    index % of === part && !known.has(index) ? [{ point, index }] : [],
  )
  let underWay = 0
  const crashes = () => progress.done.filter(({ deaths }) => deaths > 0).length
  await inLanes(
    lanes,
    () => (crashes() + underWay < share ? queue.shift() : undefined),
    async (lane, { point, index }) => {
      underWay += 1
      const done = await play(lane, point, index)
      underWay -= 1
      progress.add(done)
      const fate = done.violations.length > 0 ? 'FAILED' : done.deaths > 0 ? 'held' : 'not reached'
      console.log(`${crashes()}/${share} ${fate} ${done.id} (${done.ms} ms)`)
    },
  )
}

async function play(lane: Lane, point: Point, index: number): Promise<Done> {
  const id = idOf(point)
  const { deaths, ms, violations, logs } = await lane.run(point)
  if (violations.length > 0) {
    console.error(`\n${id}:\n  ${violations.join('\n  ')}\n${logs.join('\n')}`)
    console.error(`replay: npm run crash -- --only '${id}'\n`)
  }
  return { index, id, deaths, ms, violations }
}

async function playOnly(lanes: readonly Lane[], points: readonly Point[]): Promise<boolean> {
  const queue = [...points]
  let held = true
  await inLanes(
    lanes.slice(0, points.length),
    () => queue.shift(),
    async (lane, point) => {
      const { id, deaths, ms, violations } = await play(lane, point, 0)
      held &&= violations.length === 0
      console.log(`${violations.length === 0 ? 'held' : 'FAILED'} ${id}: killed ${deaths} times, ${ms} ms`)
    },
  )
  return held
}

function summarize(plan: Plan, done: readonly Done[], ms: number): void {
  const crashed = done.filter(({ deaths }) => deaths > 0)
  const table = (title: string, nameOf: (point: Point) => string) => {
    const counts = new Map<string, number>()
    for (const { id } of crashed) {
      const name = nameOf(parseId(id))
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    console.log(`\n${title}`)
    for (const [name, count] of [...counts].sort()) console.log(`${String(count).padStart(6)} ${name}`)
  }
  table('crashes by store', ({ store }) => store)
  table('by scenario', ({ strategy, scenario }) => `${strategy}, ${scenario}`)
  table('by effect', ({ effect, when }) => `${when} ${effect}`)
  const failed = done.filter(({ violations }) => violations.length > 0)
  const kills = crashed.reduce((sum, { deaths }) => sum + deaths, 0)
  const played = done.reduce((sum, one) => sum + one.ms, 0) / 1000
  console.log(
    `\n${crashed.length} points of ${plan.points} (${kills} kills, ${done.length - crashed.length} not reached), ` +
      `${failed.length} violations, seed ${plan.seed}; ${(played / done.length).toFixed(1)} s per point, ${(ms / 1000).toFixed(0)} s in all`,
  )
  for (const { id } of failed) console.log(`replay: npm run crash -- --only '${id}'`)
}

let options: Options | undefined
try {
  options = readOptions(process.argv.slice(2))
} catch (error) {
  console.error(`${(error as Error).message}\n\n${USAGE}`)
}
process.exitCode = options && (await main(options)) ? 0 : 1
