import type { Finding } from '../run-checks.ts'
import { isObject, type PublicDocument, type PublicOperation, paidOperations } from './public-document.ts'

/** Directories keep a list of operations in an agent's context, and call a longer one too long. */
const MANY_OPERATIONS = 40
const MANY_CHARACTERS = 4_000

/** What a directory says about the document alone, without calling anything. */
export function documentFindings(document: PublicDocument, baseUrl: string): Finding[] {
  return [
    serverFinding(document, baseUrl),
    operationsFinding(document),
    contactFinding(document),
    guidanceFinding(document),
  ]
}

function serverFinding({ server }: PublicDocument, baseUrl: string): Finding {
  const name = 'openapi.json'
  if (server === baseUrl) return { name, level: 'ok', message: `describes ${baseUrl}` }
  const message = server
    ? `says that it describes ${server}, and not ${baseUrl}`
    : 'names no server: what it describes is not known'
  return { name, level: 'warn', message, fix: 'Set BASE_URL to the address by which buyers reach it.' }
}

function operationsFinding(document: PublicDocument): Finding {
  const name = 'operations'
  const { operations, securitySchemes } = document
  const paid = paidOperations(document)
  const faults = operations.flatMap((one) => operationFaults(one, securitySchemes))
  if (faults.length > 0) {
    const more = faults.length > 1 ? ` (and ${faults.length - 1} more)` : ''
    const fix = 'Run the newest version of paystile, without changes to its openapi.json.'
    return { name, level: 'error', message: `${faults[0]}${more}`, fix }
  }
  const message = `${operations.length} operations, ${paid.length} of them paid, each with price, protocols and a 402`
  if (paid.length === 0) {
    const none = `none of ${operations.length} operations is paid: there is nothing to list`
    return { name, level: 'warn', message: none, fix: 'Sell a plan or a route.' }
  }
  if (operations.length > MANY_OPERATIONS) {
    const long = `${operations.length} operations: directories call more than ${MANY_OPERATIONS} too many for an agent`
    return { name, level: 'warn', message: long, fix: 'Sell fewer routes, or split them over two servers.' }
  }
  return { name, level: 'ok', message }
}

function operationFaults(
  { name, operation }: PublicOperation,
  schemes: PublicDocument['securitySchemes'],
): string[] {
  const { security, summary, description, responses } = operation
  const faults: string[] = []
  if (typeof (summary ?? description) !== 'string') faults.push(`${name} has no summary`)
  if (!Array.isArray(security)) faults.push(`${name} does not say whether it needs a credential`)
  const info = operation['x-payment-info']
  if (info === undefined) return faults
  const needed = Array.isArray(security) ? security.flatMap((one) => Object.keys(Object(one))) : []
  const known = needed.filter((scheme) => isObject(schemes[scheme]))
  if (known.length > 0) faults.push(`${name} is paid and asks for a credential as well: ${known.join(', ')}`)
  if (!isObject(responses) || responses['402'] === undefined) faults.push(`${name} has no 402 response`)
  return [...faults, ...paymentFaults(info).map((fault) => `${name} ${fault}`)]
}

function paymentFaults(info: unknown): string[] {
  const { price, protocols } = isObject(info) ? info : {}
  const { mode, amount, min, max } = isObject(price) ? price : {}
  const isPriced =
    (mode === 'fixed' && typeof amount === 'string') ||
    (mode === 'dynamic' && typeof min === 'string' && typeof max === 'string')
  const isPayable = Array.isArray(protocols) && protocols.some((one) => isObject(one) && isObject(one.x402))
  return [
    ...(isPriced ? [] : ['has no price in x-payment-info']),
    ...(isPayable ? [] : ['does not name x402 in the protocols of x-payment-info']),
  ]
}

function contactFinding({ info }: PublicDocument): Finding {
  const name = 'contact'
  const { email, url } = isObject(info.contact) ? info.contact : {}
  if (typeof email === 'string' && email !== '') return { name, level: 'ok', message: email }
  const fix = 'Set CONTACT_EMAIL.'
  if (typeof url === 'string' && url !== '') {
    const message = `${url}, but no email address: a directory cannot verify who owns the listing`
    return { name, level: 'warn', message, fix }
  }
  return { name, level: 'error', message: 'openapi.json has neither email nor URL of a contact', fix }
}

function guidanceFinding({ info }: PublicDocument): Finding {
  const name = 'guidance'
  const text = info['x-guidance']
  if (typeof text !== 'string' || text === '') {
    const fix = 'Run the newest version of paystile, which writes it.'
    return { name, level: 'error', message: 'openapi.json has no info["x-guidance"] for agents', fix }
  }
  if (text.length > MANY_CHARACTERS) {
    const message = `${text.length} characters; directories call more than ${MANY_CHARACTERS} too long`
    return { name, level: 'warn', message, fix: 'Shorten names and ids.' }
  }
  return { name, level: 'ok', message: `${text.length} characters for agents` }
}
