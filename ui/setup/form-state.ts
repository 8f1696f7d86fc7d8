import type { Plan, Route, SettingValue, SetupInput, SetupState } from '../shared/wire.ts'
import { durationFrom, secondsOf } from './duration.ts'
import { dollars, type MeteredRow, meteredRow, meteringOf, unmetered, withoutSign } from './metered-row.ts'
import { chosenNetworks, ofOneNetwork } from './networks.ts'

/** What is typed, before it is checked: every cell of a row is text. */
export interface PlanRow {
  key: number
  planId: string
  price: string
  description: string
  ttl: string
  credits: string
}

export interface RouteRow extends MeteredRow {
  key: number
  routeId: string
  method: string
  path: string
  price: string
  /** The price is asked at `priceFrom`, and `maxPrice` is the most. */
  computed: boolean
  priceFrom: string
  /** Of computed and of metered calls. */
  maxPrice: string
  credits: string
  free: boolean
  raw: boolean
  description: string
  /** What an import knows of its calls: not shown, but saved. */
  schemas: Record<string, unknown>
}

export const CHOICES = {
  credential: ['secret', 'key', 'api'],
  settlement: ['facilitator', 'gas'],
  store: ['embedded', 'redis', 'postgres', 'both'],
} as const
export type Choices = { [K in keyof typeof CHOICES]: (typeof CHOICES)[K][number] }

export interface FormState {
  values: Record<string, string>
  /** Absent: kept as it is. A text replaces it, null clears it. */
  secrets: Record<string, string | null>
  plans: PlanRow[]
  routes: RouteRow[]
  choices: Choices
}

/** The settings that belong to one option of a choice; those of the other options are not sent, and cleared. */
const SIDES: { [K in keyof Choices]: Record<Choices[K], readonly string[]> } = {
  credential: {
    secret: ['TOKEN_SECRET'],
    key: ['TOKEN_PRIVATE_KEY'],
    api: ['ISSUE_TOKEN_API', 'ISSUE_TOKEN_API_SECRET'],
  },
  settlement: {
    facilitator: ['FACILITATOR_URL', 'CDP_API_KEY_ID', 'CDP_API_KEY_SECRET'],
    gas: ['GAS_WALLET_PRIVATE_KEY', 'SETTLER_CONTRACT'],
  },
  store: {
    embedded: [],
    redis: ['REDIS_URL'],
    postgres: ['DATABASE_URL'],
    both: ['REDIS_URL', 'DATABASE_URL'],
  },
}

/** Saved in seconds, but typed and shown with units. */
export const isDuration = (name: string): boolean => name.endsWith('_SECONDS')

let lastKey = 0
const nextKey = (): number => ++lastKey

export const blankPlan = (): PlanRow => ({
  key: nextKey(),
  planId: '',
  price: '',
  description: '',
  ttl: '',
  credits: '',
})

export const blankRoute = (): RouteRow => ({
  key: nextKey(),
  routeId: '',
  method: 'GET',
  path: '',
  price: '',
  computed: false,
  priceFrom: '',
  maxPrice: '',
  credits: '',
  free: false,
  raw: false,
  description: '',
  schemas: {},
  ...unmetered(),
})

export function formFrom(state: SetupState): FormState {
  const values = Object.fromEntries(
    Object.entries(state.values).flatMap(([name, value]) =>
      typeof value === 'string' ? [[name, isDuration(name) ? durationFrom(value) : value]] : [],
    ),
  )
  const plans = listOf(state, 'PLANS').map((plan) => planRow(plan as unknown as Plan))
  const routes = listOf(state, 'ROUTES').map((route) => routeRow(route as unknown as Route))
  // A new seller gets an empty row to begin with.
  if (plans.length + routes.length === 0 && !state.configured) plans.push(blankPlan())
  return { values, secrets: {}, plans, routes, choices: choicesOf(state) }
}

function listOf(state: SetupState, name: string): ReadonlyArray<Record<string, unknown>> {
  const value = state.values[name]
  return Array.isArray(value) ? value : []
}

const planRow = (plan: Plan): PlanRow => ({
  key: nextKey(),
  planId: String(plan.planId ?? ''),
  price: withoutSign(plan.unitAmount),
  description: plan.description ?? '',
  ttl: plan.tokenTtlSeconds === undefined ? '' : durationFrom(String(plan.tokenTtlSeconds)),
  credits: String(plan.credits ?? ''),
})

export const routeRow = (route: Omit<Route, 'delivered'>): RouteRow => ({
  key: nextKey(),
  routeId: String(route.routeId ?? ''),
  method: String(route.method ?? 'GET'),
  path: String(route.path ?? ''),
  price: withoutSign(route.unitAmount),
  computed: route.scheme === undefined && (route.priceFrom !== undefined || route.maxAmount !== undefined),
  priceFrom: String(route.priceFrom ?? ''),
  maxPrice: withoutSign(route.maxAmount),
  credits: String(route.credits ?? ''),
  free: route.free === true,
  raw: route.raw === true,
  description: route.description ?? '',
  schemas: {
    ...(route.inputSchema && { inputSchema: route.inputSchema }),
    ...(route.outputSchema && { outputSchema: route.outputSchema }),
  },
  ...meteredRow(route),
})

function choicesOf(state: SetupState): Choices {
  const has = (name: string): boolean => state.secrets[name]?.set === true || Boolean(state.values[name])
  const redis = has('REDIS_URL')
  return {
    credential: has('ISSUE_TOKEN_API') ? 'api' : has('TOKEN_PRIVATE_KEY') ? 'key' : 'secret',
    settlement: has('GAS_WALLET_PRIVATE_KEY') ? 'gas' : 'facilitator',
    store: has('DATABASE_URL') ? (redis ? 'both' : 'postgres') : redis ? 'redis' : 'embedded',
  }
}

/** The rows that are sent, with their position on the screen: messages of the server count the rows sent. */
export const filledPlans = (rows: PlanRow[]): PlanRow[] =>
  rows.filter((row) => row.planId + row.price + row.description + row.ttl + row.credits !== '')

export const filledRoutes = (rows: RouteRow[]): RouteRow[] =>
  rows.filter(
    ({ routeId, path, price, priceFrom, maxPrice, credits, description, chargePer, chargeUnit }) =>
      routeId + path + price + priceFrom + maxPrice + credits + description + chargePer + chargeUnit !== '',
  )

/** What is sent to the server to be checked or saved, without the settings of the environment. */
export function inputOf(form: FormState, state: SetupState): SetupInput {
  const others = unwantedNames(form.choices)
  const chains = chosenNetworks(form.values, state.networks).map(({ network }) => network?.chainId)
  // Settings of networks that are no longer chosen go with them.
  const isUnwanted = (name: string): boolean => {
    const own = ofOneNetwork(name)
    return own ? !chains.includes(own.chainId) : others.has(name)
  }
  const values: Record<string, SettingValue> = {}
  for (const [name, value] of Object.entries(form.values)) {
    if (value.trim() !== '' && !isUnwanted(name) && !state.locked.includes(name))
      values[name] = String((isDuration(name) ? secondsOf(value) : undefined) ?? value.trim())
  }
  const plans = filledPlans(form.plans)
  const routes = filledRoutes(form.routes)
  if (plans.length > 0 && !state.locked.includes('PLANS')) values.PLANS = plans.map(planOf)
  if (routes.length > 0 && !state.locked.includes('ROUTES')) values.ROUTES = routes.map(routeOf)

  const secrets: Record<string, string | null> = {}
  for (const name of new Set([...Object.keys(state.secrets), ...Object.keys(form.secrets)])) {
    if (state.locked.includes(name)) continue
    const typed = form.secrets[name]
    if (isUnwanted(name)) {
      if (state.secrets[name]?.set) secrets[name] = null
    } else if (typed === null) secrets[name] = null
    else if (typed !== undefined && typed.trim() !== '') secrets[name] = typed.trim()
  }
  return { values, secrets }
}

/** Settings of the options that were not chosen. */
export function unwantedNames(choices: Choices): ReadonlySet<string> {
  const groups = Object.keys(SIDES) as Array<keyof Choices>
  return new Set(
    groups.flatMap((group) => {
      const sides: Record<string, readonly string[]> = SIDES[group]
      const wanted = sides[choices[group]] ?? []
      return Object.values(sides)
        .flat()
        .filter((name) => !wanted.includes(name))
    }),
  )
}

const planOf = ({ planId, price, description, ttl, credits }: PlanRow): Record<string, unknown> => ({
  ...(planId.trim() !== '' && { planId: planId.trim() }),
  ...(price.trim() !== '' && { unitAmount: dollars(price) }),
  ...(description.trim() !== '' && { description: description.trim() }),
  ...(ttl.trim() !== '' && { tokenTtlSeconds: secondsOf(ttl) ?? ttl }),
  ...creditsOf(credits),
})

export const routeOf = (row: RouteRow): Record<string, unknown> => {
  const { routeId, method, path, free, description, schemas } = row
  return {
    ...(routeId.trim() !== '' && { routeId: routeId.trim() }),
    method,
    ...(path.trim() !== '' && { path: path.trim() }),
    ...(free ? { free: true } : priceOf(row)),
    ...((row.raw || streams(row)) && { raw: true }),
    ...(description.trim() !== '' && { description: description.trim() }),
    ...schemas,
  }
}

/** Only answers that are not wrapped can be streamed. */
export const streams = ({ free, metered, stream }: RouteRow): boolean => !free && metered && stream

function priceOf(row: RouteRow): Record<string, unknown> {
  const most = row.maxPrice.trim() !== '' && { maxAmount: dollars(row.maxPrice) }
  if (row.metered) return { ...most, ...meteringOf(row) }
  const from = row.priceFrom.trim() !== '' && { priceFrom: row.priceFrom.trim() }
  const price = row.price.trim() !== '' && { unitAmount: dollars(row.price) }
  return { ...(row.computed ? { ...from, ...most } : price), ...creditsOf(row.credits) }
}

/** What is no number is sent as it was typed, so that the server says what is wrong with it. */
function creditsOf(typed: string): Record<string, unknown> {
  const text = typed.trim()
  if (text === '') return {}
  return { credits: /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text }
}
