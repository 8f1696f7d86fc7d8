/** The flags of `paystile init`. There are none for secrets: every user of a machine can read its command lines. */
export const INIT_FLAGS: Record<string, { name: string; description: string; hint: string }> = {
  wallet: { name: 'SVC_WALLET_ADDRESS', description: 'your wallet, which is paid', hint: 'address' },
  network: {
    name: 'SVC_NETWORK',
    description: 'testnet, mainnet, or several: base,polygon',
    hint: 'network',
  },
  plans: { name: 'PLANS', description: 'what you sell by time, as JSON', hint: 'json' },
  routes: { name: 'ROUTES', description: 'what you sell by call, as JSON', hint: 'json' },
  backend: { name: 'PROXY_TO_BASE_URL', description: 'the API behind routes and plans', hint: 'url' },
  'token-api': { name: 'ISSUE_TOKEN_API', description: 'your own endpoint that issues tokens', hint: 'url' },
  'resource-endpoint': {
    name: 'RESOURCE_ENDPOINT',
    description: 'where your own server takes the tokens of plans',
    hint: 'url',
  },
  'base-url': { name: 'BASE_URL', description: 'where buyers reach the server', hint: 'url' },
  facilitator: { name: 'FACILITATOR_URL', description: 'settles in place of the default one', hint: 'url' },
  name: { name: 'AGENT_NAME', description: 'your name, as buyers see it', hint: 'text' },
  description: { name: 'AGENT_DESCRIPTION', description: 'what you sell, in a sentence', hint: 'text' },
}
