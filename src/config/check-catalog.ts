import type { z } from 'zod'
import { type Plan, PlanSchema, type Route, RouteSchema } from '../protocol/catalog.ts'
import { nearest } from '../protocol/did-you-mean.ts'
import { durationWords } from '../protocol/duration.ts'
import { MAX_TOKEN_TTL_SECONDS } from './check-limits.ts'
import { kindOf, type OptionReader } from './option-reader.ts'
import { urlFault } from './url-fault.ts'

const EXAMPLES: Record<string, string> = {
  planId: '"basic"',
  routeId: '"weather"',
  unitAmount: '"$1.00"',
  method: '"GET"',
  path: '"/weather/:city"',
  description: '"All of it"',
  tokenTtlSeconds: '3600',
  free: 'true',
  raw: 'true',
  credits: '1000',
  maxAmount: '"$1.00"',
  scheme: '"upto"',
  charge: '{"per":"/usage/total_tokens","unitAmount":"$0.000002"}',
  chargeIfUnstated: '"maximum"',
  stream: '{"maxUnpaidPerPayer":"$0.10","maxUnpaid":"$5.00"}',
  priceFrom: '"http://localhost:8080/price"',
  inputSchema: '{"type":"object"}',
  outputSchema: '{"type":"object"}',
}

const KINDS: Record<string, string> = {
  tokenTtlSeconds: 'a number of seconds',
  free: 'true or false',
  raw: 'true or false',
  credits: 'a whole number from 1 to 1000000000',
  charge: 'an object',
  stream: 'an object',
  inputSchema: 'an object, a JSON Schema',
  outputSchema: 'an object, a JSON Schema',
}

// Other names for a price, too different from "unitAmount" for the spelling check.
const SYNONYMS: Record<string, string> = {
  price: 'unitAmount',
  amount: 'unitAmount',
  id: 'planId',
  name: 'planId',
}

export function readPlans(reader: OptionReader): Plan[] {
  const plans = readList(reader, 'plans', PlanSchema)
  plans.forEach((plan, index) => {
    // A larger value would overflow a date, and a paid token could not be made.
    if ((plan.tokenTtlSeconds ?? 1) > MAX_TOKEN_TTL_SECONDS) {
      reader.faults.push(
        `${reader.label('plans')}[${index}].tokenTtlSeconds is ${plan.tokenTtlSeconds}; it may be at most ${MAX_TOKEN_TTL_SECONDS} (${durationWords(MAX_TOKEN_TTL_SECONDS)}), for example tokenTtlSeconds: ${EXAMPLES.tokenTtlSeconds}.`,
      )
    }
  })
  refuseTwins(
    reader,
    'plans',
    'planId',
    plans.map(({ planId }) => planId),
  )
  return plans
}

export function readRoutes(reader: OptionReader): Route[] {
  const routes = readList(reader, 'routes', RouteSchema)
  routes.forEach(({ priceFrom }, index) => {
    const fault = priceFrom === undefined ? undefined : urlFault(priceFrom)
    if (fault === undefined) return
    const where = `${reader.label('routes')}[${index}].priceFrom`
    reader.faults.push(`${where} ${fault}, for example priceFrom: ${EXAMPLES.priceFrom}.`)
  })
  refuseTwins(
    reader,
    'routes',
    'routeId',
    routes.map(({ routeId }) => routeId),
  )
  refuseTwins(
    reader,
    'routes',
    'method and path',
    routes.map(({ method, path }) => `${method} ${path}`),
  )
  return routes
}

function readList<T extends z.ZodType>(
  reader: OptionReader,
  option: 'plans' | 'routes',
  schema: T,
): Array<z.infer<T>> {
  const list: unknown = reader.value(option) ?? []
  if (!Array.isArray(list)) {
    reader.fault(option, `is ${kindOf(list)}; it must be a list, for example ${exampleOf(option)}.`)
    return []
  }
  return list.flatMap((item: unknown, index) => {
    const parsed = schema.safeParse(item)
    if (parsed.success) return [parsed.data]
    const where = `${reader.label(option)}[${index}]`
    for (const issue of parsed.error.issues) reader.faults.push(...describe(issue, item, where, option))
    return []
  })
}

export function exampleOf(option: 'plans' | 'routes'): string {
  return option === 'plans'
    ? '[{"planId":"basic","unitAmount":"$1.00"}]'
    : '[{"routeId":"weather","method":"GET","path":"/weather/:city","unitAmount":"$0.01"}]'
}

function describe(
  issue: z.core.$ZodIssue,
  item: unknown,
  where: string,
  option: 'plans' | 'routes',
): string[] {
  const [member, part] = issue.path
  if (member !== undefined && (part !== undefined || issue.code === 'unrecognized_keys'))
    return describePart(issue, item, `${where}.${String(member)}`)
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map(
      (key) => `${where} has an unknown member ${JSON.stringify(key)}${suggestion(key, option)}`,
    )
  }
  if (member === undefined) {
    return [
      issue.code === 'invalid_type'
        ? `${where} is ${kindOf(item)}; it must be an object, for example ${exampleOf(option).slice(1, -1)}.`
        : `${where} ${issue.message}.`,
    ]
  }
  const name = String(member)
  const example = EXAMPLES[name] ?? ''
  const value = (item as Record<string, unknown>)[name]
  if (value === undefined) return [`${where} has no ${name}; for example ${name}: ${example}.`]
  if (issue.code === 'invalid_type' && issue.expected === 'int' && typeof value === 'number')
    return [`${where}.${name} is ${value}; it must be a whole number, for example ${name}: ${example}.`]
  if (issue.code === 'invalid_type')
    return [
      `${where}.${name} is ${kindOf(value)}; it must be ${KINDS[name] ?? 'a text'}, for example ${name}: ${example}.`,
    ]
  const told = issue.message.includes('for example')
    ? issue.message
    : `${lowerFirst(issue.message)}, for example ${example}`
  return [`${where}.${name} ${quote(value)} ${told}.`]
}

/** A fault inside of a member that is an object itself: `charge` and `stream`. */
function describePart(issue: z.core.$ZodIssue, item: unknown, where: string): string[] {
  const [member, part] = issue.path.map(String)
  const example = EXAMPLES[member ?? ''] ?? '{}'
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(JSON.parse(example) as object).join(' and ')
    return issue.keys.map((key) => `${where} has an unknown member ${JSON.stringify(key)}; it has ${known}.`)
  }
  const outer = (item as Record<string, Record<string, unknown>>)[member ?? '']
  const value = outer?.[part ?? '']
  if (value === undefined) return [`${where}.${part} is missing; for example ${member}: ${example}.`]
  if (issue.code === 'invalid_type')
    return [`${where}.${part} is ${kindOf(value)}; it must be a text as in ${member}: ${example}.`]
  return [`${where}.${part} ${quote(value)} ${issue.message}.`]
}

function suggestion(key: string, option: 'plans' | 'routes'): string {
  const known = option === 'plans' ? Object.keys(PlanSchema.shape) : Object.keys(RouteSchema.shape)
  const synonym = SYNONYMS[key]
  const guess = synonym && known.includes(synonym) ? synonym : nearest(key, known)
  return guess ? `; did you mean "${guess}"?` : `; it may have ${known.join(', ')}.`
}

function refuseTwins(reader: OptionReader, option: 'plans' | 'routes', what: string, values: string[]): void {
  for (const twin of new Set(values.filter((value, index) => values.indexOf(value) < index))) {
    reader.fault(option, `has the ${what} ${quote(twin)} more than once; each must be unique.`)
  }
}

function quote(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > 60 ? `${text.slice(0, 57)}...` : text
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1)
}
