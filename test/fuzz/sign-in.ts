import { createSiwx } from '../../src/dialects/siwx/create-siwx.ts'
import { GatewayError } from '../../src/errors.ts'
import type { Json } from './mutate.ts'
import { renderHeader, someHeader } from './payments.ts'
import { fault, openTarget, type Target } from './target.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const URI = 'http://localhost:3000/x402/access'

/** A good proof in every field, without a real signature. */
export const SAMPLE_PROOF: Json = {
  domain: 'localhost:3000',
  address: `0x${'Aa'.repeat(20)}`,
  statement: 'Enter.',
  uri: URI,
  version: '1',
  chainId: 'eip155:84532',
  type: 'eip191',
  nonce: 'ab'.repeat(16),
  issuedAt: '2026-03-01T11:59:00Z',
  expirationTime: '2026-03-01T12:04:00Z',
  notBefore: '2026-03-01T11:59:00Z',
  requestId: 'r-1',
  resources: [URI],
  signature: `0x${'11'.repeat(64)}1b`,
}

/** The header that opens what a wallet owns: whatever is read was signed for this place, and its text is unambiguous. */
export const signInTarget: Target = {
  name: 'sign-in-header',
  share: 5,
  open: async () => {
    const random = { bytes: (length: number) => new Uint8Array(length) }
    const siwx = createSiwx({
      baseUrl: 'http://localhost:3000',
      networks: ['eip155:84532'],
      now: () => NOW,
      random,
    })
    return openTarget({
      inputs: someHeader,
      check(header) {
        const read = siwx.read(renderHeader(header, SAMPLE_PROOF), '/x402/access')
        if (read instanceof GatewayError) {
          if (read.code !== 'UNAUTHORIZED') fault(`refused with ${read.code}`)
          if (read.message.length > 600) fault(`a message of ${read.message.length} characters`)
          if (read.message.includes('11'.repeat(16))) fault('the message repeats the signature')
          return 'refused'
        }
        const { account, text, nonce, endsAt, network, signature } = read
        if (!/^0x[0-9a-f]{40}$/.test(account)) fault(`not canonical: ${account}`)
        if (!/^0x([0-9a-f]{2})+$/.test(signature)) fault('not canonical: the signature')
        if (network !== 'eip155:84532') fault(`a proof for ${network}`)
        if (endsAt <= NOW || endsAt > NOW + 305_000) fault(`good until ${endsAt}`)
        const count = (start: string) => text.split('\n').filter((line) => line.startsWith(start)).length
        for (const start of ['URI: ', 'Version: ', 'Chain ID: ', `Nonce: ${nonce}`, 'Issued At: '])
          if (count(start) < 1) fault(`the text lacks ${start}`)
        const lines = text.split('\n')
        if (lines[0] !== 'localhost:3000 wants you to sign in with your Ethereum account:') fault(lines[0]!)
        if (lines[1]!.toLowerCase() !== account || lines[2] !== '') fault('the text names another account')
        if (!lines.slice(3, 6).some((line) => line.split('?')[0] === `URI: ${URI}`)) fault('another address')
        return 'read'
      },
    })
  },
}
