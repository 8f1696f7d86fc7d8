/** The fields of a sign-in, as the server offers them and the wallet signs them. */
export interface SignInFields {
  domain: string
  /** As the wallet spells it. */
  address: string
  statement?: string | undefined
  uri: string
  version: string
  /** CAIP-2, e.g. `eip155:8453`. */
  chainId: string
  nonce: string
  issuedAt: string
  expirationTime?: string | undefined
  notBefore?: string | undefined
  requestId?: string | undefined
  resources?: readonly string[] | undefined
}

/** The text that a wallet signs: EIP-4361. No field may contain a line break, or two sign-ins could have one text. */
export function signInText(fields: SignInFields): string {
  const { domain, address, statement, uri, version, chainId, nonce, issuedAt } = fields
  const { expirationTime, notBefore, requestId, resources } = fields
  return [
    `${domain} wants you to sign in with your Ethereum account:`,
    address,
    '',
    ...(statement === undefined ? [''] : [statement, '']),
    `URI: ${uri}`,
    `Version: ${version}`,
    `Chain ID: ${chainId.split(':')[1]}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    ...(expirationTime === undefined ? [] : [`Expiration Time: ${expirationTime}`]),
    ...(notBefore === undefined ? [] : [`Not Before: ${notBefore}`]),
    ...(requestId === undefined ? [] : [`Request ID: ${requestId}`]),
    ...(resources === undefined ? [] : ['Resources:', ...resources.map((resource) => `- ${resource}`)]),
  ].join('\n')
}
