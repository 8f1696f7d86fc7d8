/** What a run took, all its processes together: so many units (purchases, or prepaid calls) by so many instances. */
export interface Taken {
  units: number
  instances: number
  seconds: number
  /** Of all instances. */
  instanceCpuMs: number
  /** Of all processes of Postgres. */
  storeCpuMs: number
  statements: number
  /** Transactions that wrote something. */
  writes: number
  walBytes: number
  rpcCalls: number
  /** By which tables and indexes grew. */
  rowBytes: number
  /** Of the local chain. */
  chainCpuMs: number
  /** Of what stands around: buyers, the backend. */
  restCpuMs: number
  /** In which Postgres waited for its disk. */
  diskMs: number
  /** Of everything on the machine, whoever started it. */
  machineCpuMs: number
}

/** What is predicted. How far it may be off is said before anything is measured. */
export const TOLERANCES = {
  instanceCpuMs: 0.3,
  storeCpuMs: 0.3,
  statements: 0.3,
  writes: 0.3,
  walBytes: 0.3,
} as const
export type CostName = keyof typeof TOLERANCES
export const COST_NAMES = Object.keys(TOLERANCES) as CostName[]

/** One unit takes `each`; an instance takes `idlePerSecond` whether it sells or not. */
export interface UnitCost {
  each: number
  idlePerSecond: number
}
export type UnitCosts = Record<CostName, UnitCost>

/** From one instance, under load and idle. */
export function unitCostsOf(busy: Taken, idle: Taken): UnitCosts {
  const costOf = (name: CostName): UnitCost => {
    const idlePerSecond = idle[name] / (idle.instances * idle.seconds)
    const beside = idlePerSecond * busy.instances * busy.seconds
    return { each: Math.max(0, busy[name] - beside) / busy.units, idlePerSecond }
  }
  return Object.fromEntries(COST_NAMES.map((name) => [name, costOf(name)])) as UnitCosts
}

/** What a unit takes in a run of so many instances, with its share of what they take anyway. */
export function predictEach(
  { each, idlePerSecond }: UnitCost,
  { units, instances, seconds }: Pick<Taken, 'units' | 'instances' | 'seconds'>,
): number {
  return each + (idlePerSecond * instances * seconds) / units
}

/** How far off, as a share of what was predicted. */
export const deviationOf = (predicted: number, measured: number): number =>
  predicted === measured ? 0 : Math.abs(measured - predicted) / Math.abs(predicted)

export type Loads = Record<'an instance' | "the store's disk" | 'the chain' | 'all cores', number>

/**
 * How busy each part is, of what it can be: an instance and the local chain have one core each at most, the log of the store is
 * written to the disk by one at a time, and all share the cores of the machine.
 */
export function loadsOf(taken: Taken, cores: number): Loads {
  const { instanceCpuMs, chainCpuMs, machineCpuMs, diskMs, seconds, instances } = taken
  const ms = seconds * 1000
  return {
    'an instance': instanceCpuMs / instances / ms,
    "the store's disk": diskMs / ms,
    'the chain': chainCpuMs / ms,
    'all cores': machineCpuMs / (ms * cores),
  }
}

/** The part that is nearest to its limit. */
export function bindingOf<Name extends string>(loads: Record<Name, number>): Name {
  const names = Object.keys(loads) as Name[]
  return names.reduce((most, name) => (loads[name] > loads[most] ? name : most))
}

/**
 * The limit that more instances meet first, from what a unit took with one: they share the load, so that what one
 * of them has to do shrinks, and everything else stays.
 */
export function predictBinding(one: Taken, instances: number, cores: number): keyof Loads {
  const { 'an instance': alone, ...others } = loadsOf(one, cores)
  return bindingOf({ 'an instance': alone / instances, ...others })
}
