import type { Fault } from '../shared/wire.ts'

/** Shortens the server's messages about missing settings: their examples for files are not needed beside a form. */
const WORDS: Record<string, string> = {
  SVC_WALLET_ADDRESS: 'Give the wallet that receives the money.',
  PLANS: 'Add at least one plan or route with a price.',
  TOKEN_SECRET: 'Plans need a way to make credentials: generate a signing secret, or choose another way.',
  RESOURCE_ENDPOINT:
    'Plans need somebody who answers their tokens: give the address where your own server takes them, or, unless tokens come from your own API, your backend’s address under “Routes and backend”.',
  PROXY_TO_BASE_URL: 'Routes need your backend’s address.',
  SVC_SECRET_KEY: 'A store that several servers share needs a secret key: generate one.',
}

export const missingWords = ({ name, message }: Fault): string => WORDS[name ?? ''] ?? message
