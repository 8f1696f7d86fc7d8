import { createPublicKey, type KeyObject } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { ConfigError } from '../errors.ts'
import { NETWORKS } from '../protocol/networks.ts'
import { DocumentError, fetchDocument } from '../receipts/fetch-document.ts'
import { findJws, MAX_TEXT } from '../receipts/find-jws.ts'
import { keyIn, type ParsedJws, parseJws, type Verified, verifyJws } from '../receipts/verify-jws.ts'
import type { Line, Report, Terminal } from './terminal.ts'

/** Finds the key that a receipt names. */
type FindKey = (parsed: ParsedJws) => Promise<KeyObject | undefined>

/** Checks every signed text in a file. What it says is shown only once its signature is verified. */
export async function verifyReceipts(
  { input }: Terminal,
  file: string,
  keyFile: string | undefined,
): Promise<Report> {
  const found = findJws(file === '-' ? await readStream(input) : await readText(file))
  if (found.length === 0) {
    throw new ConfigError([
      `${file} holds no signed receipt; save the receipt itself, the JSON of GET /x402/challenges/:id or /receipts/:id, or the response headers (curl -i).`,
    ])
  }
  const findKey = keyFile === undefined ? fetchedKey : await keyOfFile(keyFile)
  const results = await Promise.all(found.map((jws) => judge(jws, findKey)))
  return {
    lines: results.flatMap(({ lines }) => lines),
    json: { ok: results.every(({ ok }) => ok), receipts: results.map(({ json }) => json) },
    failed: !results.every(({ ok }) => ok),
  }
}

interface Judged {
  ok: boolean
  lines: Line[]
  json: object
}

async function judge(jws: string, findKey: FindKey): Promise<Judged> {
  const parsed = parseJws(jws)
  if ('fault' in parsed) return refused(`NOT VALID: it ${parsed.fault}.`)
  let key: KeyObject | undefined
  try {
    key = await findKey(parsed)
  } catch (error) {
    if (!(error instanceof DocumentError)) throw error
    return refused(`NOT VERIFIED: ${error.message}. Try again later, or give the key by --key FILE.`)
  }
  if (!key) return refused(`NOT VALID: ${parsed.did} publishes no such key for receipts.`)
  const verified = verifyJws(parsed, key)
  if ('fault' in verified) return refused(`NOT VALID: it ${verified.fault}.`)
  const facts = factsOf(verified)
  const width = Math.max(...facts.map(([name]) => name.length))
  const title = { receipt: 'receipt of a delivery', refund: 'receipt of a refund', offer: 'signed offer' }
  return {
    ok: true,
    lines: [
      { level: 'ok', text: `VALID ${title[verified.kind]}, signed by ${parsed.did}` },
      ...facts.map(([name, value]) => `  ${name.padEnd(width)}  ${value}`),
    ],
    json: { valid: true, signedBy: parsed.did, ...verified },
  }
}

function refused(reason: string): Judged {
  return { ok: false, lines: [{ level: 'error', text: reason }], json: { valid: false, reason } }
}

function factsOf(verified: Verified): Array<[string, string]> {
  const said = verified.kind === 'offer' ? verified.offer : verified.receipt
  const network = NETWORKS.find(({ id }) => id === said.network)
  const at = (seconds: number) => new Date(seconds * 1000).toISOString()
  const place: Array<[string, string]> = [
    ['bought', said.resourceUrl],
    ['network', network ? `${said.network} (${network.name})` : said.network],
  ]
  const link = (hash: string) => (network ? network.explorerTxUrl + hash : hash)
  const sum = (amount: string, asset: string) => {
    const isKnown = network?.token.address.toLowerCase() === asset.toLowerCase()
    return isKnown
      ? `${decimal(amount, network.token.decimals)} ${network.token.symbol}`
      : `${amount} units of ${asset}`
  }
  if (verified.kind === 'offer') {
    const { amount, asset, payTo, validUntil } = verified.offer
    return [...place, ['price', sum(amount, asset)], ['pay to', payTo], ['valid until', at(validUntil)]]
  }
  const { payer, issuedAt, transaction } = verified.receipt
  const shared: Array<[string, string]> = [
    ...place,
    ['payer', payer],
    ['signed at', at(issuedAt)],
    ['payment', link(transaction)],
  ]
  if (verified.kind === 'receipt') return shared
  const { amount, asset, refundTransaction } = verified.receipt
  return [...shared, ['refund', link(refundTransaction)], ['amount', sum(amount, asset)]]
}

function decimal(units: string, decimals: number): string {
  const digits = units.padStart(decimals + 1, '0')
  return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/0+$/, '').replace(/\.$/, '')
}

const fetchedKey: FindKey = async (parsed) => keyIn(await fetchDocument(parsed.did), parsed)

/** A did.json that was saved, or a public key in PEM or as a JWK. */
async function keyOfFile(file: string): Promise<FindKey> {
  const text = await readText(file)
  try {
    if (!text.trimStart().startsWith('{')) {
      const key = createPublicKey(text)
      return async () => key
    }
    const value = JSON.parse(text) as { kty?: unknown }
    if (value.kty === undefined) return async (parsed) => keyIn(value, parsed)
    const key = createPublicKey({ key: value as { kty: string }, format: 'jwk' })
    return async () => key
  } catch {
    throw new ConfigError([`${file} holds no public key: give a PEM, a JWK or a saved did.json.`])
  }
}

/** Both read no more than {@link MAX_TEXT} bytes, however much there is. */
async function readText(file: string): Promise<string> {
  try {
    return await readStream(createReadStream(file, { end: MAX_TEXT - 1 }))
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
    throw new ConfigError([`${file} cannot be read (${code}).`])
  }
}

async function readStream(input: NodeJS.ReadableStream): Promise<string> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk))
    size += chunks.at(-1)!.length
    if (size >= MAX_TEXT) break
  }
  return Buffer.concat(chunks).subarray(0, MAX_TEXT).toString('utf8')
}
