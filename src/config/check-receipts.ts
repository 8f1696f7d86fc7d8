import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import type { OptionReader } from './option-reader.ts'
import type { ReceiptConfig } from './resolved-config.ts'

const EXAMPLE = 'for example the output of: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256'

export function readReceipts(reader: OptionReader): ReceiptConfig {
  return { receiptPrivateKey: readKey(reader), signedOffers: reader.flag('signedOffers') }
}

function readKey(reader: OptionReader): string | null {
  const given = reader.texts('receiptPrivateKey', /(?=-----BEGIN )/)
  if (given === undefined) return null
  const blocks = given.filter((block) => block !== '')
  blocks.forEach((block, index) => {
    const fault = keyFault(block, index === 0)
    const which = blocks.length > 1 ? `(key ${index + 1} of ${blocks.length}) ` : ''
    if (fault !== undefined) reader.fault('receiptPrivateKey', which + fault)
  })
  return blocks.length === 0 ? null : blocks.join('\n')
}

function keyFault(pem: string, signs: boolean): string | undefined {
  let key: KeyObject
  try {
    // OpenSSL's message is left out: it does not help, and it might repeat a part of the key.
    key = signs ? createPrivateKey(pem) : createPublicKey(pem)
  } catch {
    return signs
      ? `is no unencrypted private key in PEM, ${EXAMPLE}`
      : 'cannot be read as a PEM key; copy it whole, with its BEGIN and END lines.'
  }
  if (key.asymmetricKeyDetails?.namedCurve === 'prime256v1') return undefined
  const found = key.asymmetricKeyDetails?.namedCurve ?? key.asymmetricKeyType
  return `is of type ${found}; receipts are signed with ES256, which needs a key on P-256, ${EXAMPLE}`
}
