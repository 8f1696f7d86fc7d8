import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { OptionReader } from './option-reader.ts'
import type { CredentialConfig } from './resolved-config.ts'

const MIN_SECRET_BYTES = 32
const MIN_RSA_BITS = 2048
const RSA_EXAMPLE = `for example the output of: openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:${MIN_RSA_BITS}`
const STEPS = ['tokenSecret', 'tokenPrivateKey', 'fetchResourceCredentials', 'issueTokenApi'] as const

/** Exactly one credential step may be set: with two it would be unclear which one a buyer gets. */
export function readCredential(reader: OptionReader, needed: boolean): CredentialConfig {
  const given = STEPS.filter((step) => reader.value(step) !== undefined)
  if (given.length > 1) {
    reader.faults.push(
      `${given.map(reader.label).join(' and ')} are both set; keep one way to make credentials.`,
    )
  }
  if (given.length === 0 && needed) {
    const example = `the output of "openssl rand -hex 32" as ${reader.label('tokenSecret')}`
    reader.miss(STEPS, `plans need one of them, for example ${example}`)
  }
  const secret = reader.text('issueTokenApiSecret') ?? null
  if (secret !== null && !given.includes('issueTokenApi')) {
    reader.fault(
      'issueTokenApiSecret',
      `is set without ${reader.label('issueTokenApi')}; set both or neither.`,
    )
  }
  // Reads all steps that are given, so that the faults of each are reported.
  const read = given.map((step) => readStep(reader, step, secret))
  return read.find((credential) => credential !== undefined) ?? { kind: 'none' }
}

function readStep(
  reader: OptionReader,
  step: (typeof STEPS)[number],
  apiSecret: string | null,
): CredentialConfig | undefined {
  switch (step) {
    case 'tokenSecret':
      return readTokenSecret(reader)
    case 'tokenPrivateKey':
      return readTokenPrivateKey(reader)
    case 'fetchResourceCredentials': {
      const fetchResourceCredentials = reader.callback(step)
      return fetchResourceCredentials && { kind: 'callback', fetchResourceCredentials }
    }
    case 'issueTokenApi': {
      const url = reader.url(step, 'https://api.example.com/issue-token')
      return url === undefined ? undefined : { kind: 'api', url, secret: apiSecret }
    }
  }
}

function readTokenSecret(reader: OptionReader): CredentialConfig | undefined {
  const secret = reader.text('tokenSecret')
  if (secret === undefined) return undefined
  const bytes = Buffer.byteLength(secret)
  if (bytes >= MIN_SECRET_BYTES) return { kind: 'hs256', secret }
  reader.fault(
    'tokenSecret',
    `has ${bytes} bytes; HS256 needs at least ${MIN_SECRET_BYTES}, for example the output of: openssl rand -hex 32`,
  )
  return undefined
}

function readTokenPrivateKey(reader: OptionReader): CredentialConfig | undefined {
  const given = reader.texts('tokenPrivateKey', /(?=-----BEGIN )/)
  if (given === undefined) return undefined
  const blocks = given.filter((block) => block !== '')
  const faults = blocks.flatMap((block, index) => {
    const fault = rsaFault(block, index === 0)
    const which = blocks.length > 1 ? ` (key ${index + 1} of ${blocks.length})` : ''
    return fault === undefined ? [] : [`${reader.label('tokenPrivateKey')}${which} ${fault}`]
  })
  reader.faults.push(...faults)
  return faults.length > 0 ? undefined : { kind: 'rs256', pem: blocks.join('\n') }
}

function rsaFault(pem: string, signs: boolean): string | undefined {
  let key: KeyObject
  try {
    // OpenSSL's message is left out: it does not help, and it might repeat a part of the key.
    key = signs ? createPrivateKey(pem) : createPublicKey(pem)
  } catch {
    return signs
      ? `is no unencrypted RSA private key in PEM, ${RSA_EXAMPLE}`
      : 'cannot be read as a PEM key; copy it whole, with its BEGIN and END lines.'
  }
  if (key.asymmetricKeyType !== 'rsa')
    return `is of type ${key.asymmetricKeyType}; RS256 needs an RSA key, ${RSA_EXAMPLE}`
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0
  return bits < MIN_RSA_BITS
    ? `has ${bits} bits; RS256 needs at least ${MIN_RSA_BITS}, ${RSA_EXAMPLE}`
    : undefined
}
