import { z } from 'zod'
import { nearest } from '../protocol/did-you-mean.ts'
import type { Address } from '../protocol/hex.ts'
import type { Network } from '../protocol/network.ts'
import { NETWORKS } from '../protocol/networks.ts'
import { addressFault } from './check-wallet.ts'
import { kindOf, type OptionReader } from './option-reader.ts'
import { quote } from './read-variable.ts'
import { urlFault } from './url-fault.ts'

const text = (max: number) => z.string().trim().min(1).max(max)
const whole = (min: number, max: number) => z.number().int().min(min).max(max)
const url = z
  .string()
  .trim()
  .refine((value) => urlFault(value) === undefined)

const Described = z.strictObject({
  id: z.string().regex(/^eip155:[1-9]\d{0,14}$/),
  name: text(60).optional(),
  word: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,39}$/)
    .optional(),
  testnet: z.boolean(),
  token: z.strictObject({
    address: z.string().refine((value) => addressFault(value) === undefined),
    symbol: text(20).default('USDC'),
    decimals: whole(6, 36),
    domain: z.strictObject({ name: text(100), version: text(20) }),
  }),
  rpcUrls: z.array(url).min(1).max(20).optional(),
  rpcUrl: url.optional(),
  explorerTxUrl: url,
  native: z
    .strictObject({ symbol: text(20), usd: z.number().positive() })
    .default({ symbol: 'ETH', usd: 4000 }),
  facilitatorUrl: url.optional(),
  blockMs: whole(50, 3_600_000).default(2_000),
  confirmations: whole(1, 1000).default(1),
  finalDepth: whole(1, 1_000_000).optional(),
  fees: z
    .strictObject({
      minTipGwei: z.number().min(0).default(0),
      maxGwei: z.number().positive().default(1_000),
      legacy: z.boolean().default(false),
    })
    .prefault({}),
  maxTxGas: whole(400_000, 15_000_000).optional(),
  logRange: whole(1, 1_000_000).default(2_000),
})

/** What each member must be, and an example of it. */
const MEMBERS: Record<string, [what: string, example: string]> = {
  id: ['"eip155:" and a chain id', '"eip155:100"'],
  name: ['a short text', '"Gnosis"'],
  word: ['a word of lower case letters, digits and "-"', '"gnosis"'],
  testnet: ['true (test money) or false (real money)', 'false'],
  token: ['an object', '{"address":"0x…","decimals":6,"domain":{"name":"USD Coin","version":"2"}}'],
  'token.address': ["the token's address, 0x and 40 hex digits with a right checksum", '"0x2a22…fb0"'],
  'token.symbol': ['a short text', '"USDC"'],
  'token.decimals': ['a whole number from 6 to 36', '6'],
  'token.domain': ["the token's EIP-712 domain", '{"name":"USD Coin","version":"2"}'],
  'token.domain.name': ["a text, as the token's EIP-712 domain has it", '"USD Coin"'],
  'token.domain.version': ["a text, as the token's EIP-712 domain has it", '"2"'],
  rpcUrls: ['a list of http or https URLs', '["https://rpc.example"]'],
  rpcUrl: ['an http or https URL', '"https://rpc.example"'],
  explorerTxUrl: ['an http or https URL', '"https://scan.example/tx/"'],
  native: ['an object', '{"symbol":"ETH","usd":4000}'],
  'native.symbol': ['a short text', '"ETH"'],
  'native.usd': ['a number above 0', '4000'],
  facilitatorUrl: ['an http or https URL', '"https://facilitator.example"'],
  blockMs: ['a whole number from 50 to 3600000', '2000'],
  confirmations: ['a whole number from 1 to 1000', '1'],
  finalDepth: ['a whole number from 1 to 1000000', '64'],
  fees: ['an object', '{"minTipGwei":0,"maxGwei":1000,"legacy":false}'],
  'fees.minTipGwei': ['a number of at least 0', '0'],
  'fees.maxGwei': ['a number above 0', '1000'],
  'fees.legacy': ['true or false', 'false'],
  maxTxGas: ['a whole number from 400000 to 15000000', '10000000'],
  logRange: ['a whole number from 1 to 1000000', '2000'],
}

export const EXAMPLE_NETWORKS = '[{"id":"eip155:100", …}]'

/** Networks that the seller describes; what is wrong with a description is one line that names the member. */
export function readCustomNetworks(reader: OptionReader): Network[] {
  const list: unknown = reader.value('customNetworks') ?? []
  const label = reader.label('customNetworks')
  if (!Array.isArray(list)) {
    reader.fault(
      'customNetworks',
      `is ${kindOf(list)}; it must be a list of networks, for example ${EXAMPLE_NETWORKS}.`,
    )
    return []
  }
  const found: Network[] = []
  list.forEach((item: unknown, index) => {
    const where = `${label}[${index}]`
    const parsed = Described.safeParse(item)
    const faults = parsed.success
      ? clashOf(parsed.data, where, found)
      : parsed.error.issues.flatMap((issue) => describe(issue, item, where))
    reader.faults.push(...faults)
    if (parsed.success && faults.length === 0) found.push(networkOf(parsed.data))
  })
  return found
}

function networkOf({ rpcUrl, rpcUrls, maxTxGas, ...described }: z.infer<typeof Described>): Network {
  const { id, token, explorerTxUrl, facilitatorUrl, finalDepth } = described
  const word = described.word ?? id
  return {
    ...described,
    chainId: Number(id.slice('eip155:'.length)),
    word,
    aliases: [],
    name: described.name ?? word,
    token: { ...token, address: token.address.toLowerCase() as Address },
    rpcUrls: rpcUrls ?? [rpcUrl!],
    // The hash is appended: `/tx` alone would give `/tx0x…`.
    explorerTxUrl: /[/=]$/.test(explorerTxUrl) ? explorerTxUrl : `${explorerTxUrl}/`,
    facilitatorUrl: facilitatorUrl?.replace(/\/+$/, '') ?? null,
    finalDepth: finalDepth ?? null,
    ...(maxTxGas !== undefined && { maxTxGas }),
  }
}

function clashOf(
  { id, word, rpcUrl, rpcUrls }: z.infer<typeof Described>,
  where: string,
  others: readonly Network[],
): string[] {
  const known = NETWORKS.find((network) => network.id === id)
  if (known) {
    const chain = known.chainId
    return [
      `${where}.id is ${id}, which is known as ${known.word}; leave it out here, and change what differs by RPC_URL_${chain}, FACILITATOR_URL_${chain} and the like (option perNetwork).`,
    ]
  }
  if (others.some((other) => other.id === id))
    return [`${where}.id is ${id}, which is described twice; keep one.`]
  const taken = [...NETWORKS, ...others].flatMap((network) => [network.word, ...network.aliases])
  if (word !== undefined && taken.includes(word))
    return [`${where}.word is "${word}", which is another network; choose another word.`]
  if (rpcUrl === undefined && rpcUrls === undefined)
    return [
      `${where}.rpcUrls is missing; it must be ${MEMBERS.rpcUrls![0]}, for example "rpcUrls": ${MEMBERS.rpcUrls![1]}`,
    ]
  if (rpcUrl !== undefined && rpcUrls !== undefined)
    return [`${where} has both rpcUrl and rpcUrls; keep one.`]
  return []
}

function describe(issue: z.core.$ZodIssue, item: unknown, where: string): string[] {
  const path = issue.path.filter((part) => typeof part === 'string').join('.')
  const place = `${where}${issue.path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`)).join('')}`
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => `${place} has an unknown member ${quote(key)}${suggestion(key, path)}`)
  if (issue.path.length === 0)
    return [
      `${place} is ${kindOf(item)}; it must be an object that describes a network, for example ${EXAMPLE_NETWORKS.slice(1, -1)}.`,
    ]
  const [what, example] = MEMBERS[path]!
  const member = path.split('.').at(-1)
  const value = issue.path.reduce<unknown>((from, part) => Object(from)[part], item)
  const must = `it must be ${what}, for example "${member}": ${example}`
  if (value === undefined) return [`${place} is missing; ${must}`]
  // URLs of RPCs often contain a key, so a text is not repeated.
  const found =
    typeof value === 'number' || typeof value === 'boolean'
      ? String(value)
      : `${kindOf(value)} that does not fit`
  return [`${place} is ${found}; ${must}`]
}

function suggestion(key: string, path: string): string {
  const prefix = path === '' ? '' : `${path}.`
  const members = Object.keys(MEMBERS).flatMap((name) => {
    const rest = name.startsWith(prefix) ? name.slice(prefix.length) : '.'
    return rest.includes('.') ? [] : [rest]
  })
  const guess = nearest(key, members)
  return guess ? `; did you mean "${guess}"?` : `; it may have ${members.join(', ')}.`
}
