import { dollarsToMicro } from '../../protocol/amount.ts'
import { isMetered as isMeteredRoute } from '../../protocol/schemes-sold.ts'
import { exampleUrl, type Offer, type PaidRoute, type Plan, paidRoutes } from '../onboarding/offer.ts'

/** A text to copy, with what it is for. */
export interface ReadyText {
  title: string
  /** What to do with it. */
  hint: string
  text: string
}

export interface TextParts extends Offer {
  /** The documents for agents are served. */
  documents: boolean
}

/** Everything that a buyer may copy and use as it stands, once it has put in values of its own. */
export function readyTexts(parts: TextParts): ReadyText[] {
  const [plan] = parts.discovery.plans
  const [route] = paidRoutes(parts)
  const what = route ?? plan
  return [
    agentPrompt(parts),
    ...(parts.mcp ? mcpEntries(parts) : []),
    ...(what ? [bridgeEntry(parts, what), command(parts), code(parts, what)] : []),
  ]
}

function agentPrompt({ baseUrl, discovery, documents }: TextParts): ReadyText {
  const start = documents ? `${baseUrl}/skills.md` : `${baseUrl}/discover`
  return {
    title: 'For an agent',
    hint: 'Paste it into an agent that has a wallet and may make HTTP requests.',
    text: `Buy from ${discovery.agentName} at ${baseUrl} for me and pay by x402 from your wallet.
Read ${start} first: it lists what is sold and how to pay.
Tell me the price and wait for my yes before you sign. Pay once per purchase: on 503 send the same payment again, never a new one.`,
  }
}

/** What the seller is called in a client's settings. */
function entryName({ discovery }: TextParts): string {
  const words = discovery.agentName.toLowerCase().replace(/[^a-z0-9]+/g, '-')
  return words.replace(/^-+|-+$/g, '') || 'paystile'
}

/** For assistants that hold no wallet: the bridge pays in their place, whether or not the gateway itself speaks MCP. */
function bridgeEntry(parts: TextParts, what: Plan | PaidRoute): ReadyText {
  const most = 'most' in what ? what.most : what.unitAmount
  const limits = ['--max-amount', most, '--max-total', dailyLimit(most), '--confirm']
  const args = ['-y', 'paystile', 'bridge', parts.baseUrl, ...limits, '--key-file', '/path/to/your/key']
  return {
    title: 'An assistant that pays',
    hint: 'Into the file with mcpServers of a desktop assistant or editor that has no wallet. It asks you before it pays from the key in that file, and stays within these limits.',
    text: JSON.stringify({ mcpServers: { [entryName(parts)]: { command: 'npx', args } } }, null, 2),
  }
}

const DAILY_LIMIT = '$5.00'
const dailyLimit = (most: string): string =>
  dollarsToMicro(most) > dollarsToMicro(DAILY_LIMIT) ? most : DAILY_LIMIT

function mcpEntries(parts: TextParts): ReadyText[] {
  const url = `${parts.baseUrl}/mcp`
  const name = entryName(parts)
  return [
    {
      title: 'MCP: most clients',
      hint: 'Into the file with mcpServers, such as ~/.cursor/mcp.json. The client must be able to pay by x402.',
      text: JSON.stringify({ mcpServers: { [name]: { type: 'http', url } } }, null, 2),
    },
    {
      title: 'MCP: VS Code',
      hint: 'Into .vscode/mcp.json.',
      text: JSON.stringify({ servers: { [name]: { type: 'http', url } } }, null, 2),
    },
    {
      title: 'MCP: Claude Code',
      hint: 'In a terminal.',
      text: `claude mcp add --transport http ${name} ${url}`,
    },
  ]
}

function command({ baseUrl }: TextParts): ReadyText {
  return {
    title: 'In a terminal',
    hint: 'It lists what is sold, with the command for each; they pay from the key in BUYER_PRIVATE_KEY.',
    text: `npx paystile buy ${baseUrl}`,
  }
}

// JSON is JavaScript: whatever a URL or path holds, it stays within its quotes.
const js = (value: unknown): string => JSON.stringify(value)

function code(parts: TextParts, what: Plan | PaidRoute): ReadyText {
  const most = 'most' in what ? what.most : what.unitAmount
  const isMetered = 'path' in what && isMeteredRoute(what)
  const scheme = isMetered ? 'UptoEvmScheme' : 'ExactEvmScheme'
  const registered = parts.networks.map(({ id }) => `  .register(${js(id)}, new ${scheme}(account))`)
  const hasValues = 'path' in what && what.path.includes('/:')
  return {
    title: 'In code',
    hint: `First: npm install @x402/fetch @x402/evm viem. It pays from the key in BUYER_PRIVATE_KEY.${hasValues ? ' Put a value of your own for each YOUR_ word.' : ''}${isMetered ? ' The price is a maximum, and the wallet must have let Permit2 move its USDC.' : ''}`,
    text: `import { ${scheme} } from '@x402/evm${isMetered ? '/upto/client' : ''}'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const account = privateKeyToAccount(process.env.BUYER_PRIVATE_KEY)
const client = new x402Client()
${registered.join('\n')}
  .setSpendControls({ maxAmountPerPayment: ${js(most)} })
const pay = wrapFetchWithPayment(fetch, client)

const answer = await pay(${requestOf(parts, what)})
console.log(answer.status, await answer.text())`,
  }
}

function requestOf(parts: TextParts, what: Plan | PaidRoute): string {
  if ('planId' in what) {
    const headers = `{ 'content-type': 'application/json' }`
    return `${js(`${parts.baseUrl}/x402/access`)}, { method: 'POST', headers: ${headers}, body: ${js(js({ planId: what.planId }))} }`
  }
  const url = js(exampleUrl(parts, what))
  return what.method === 'GET' ? url : `${url}, { method: ${js(what.method)} }`
}
