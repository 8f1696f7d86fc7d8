import {
  type CallToolResult,
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool,
} from '@modelcontextprotocol/server'
import { microToDollars } from '../protocol/amount.ts'
import { findNetwork } from '../protocol/networks.ts'
import type { Confirmations, Quote } from './confirmations.ts'
import type { Agreed, Made, Purchases } from './make-purchases.ts'
import { nameTools } from './name-tools.ts'
import { describePurchase, hostOf, type Purchase } from './purchase.ts'
import { failure } from './results.ts'
import type { SellerTool } from './seller.ts'
import type { Sellers } from './sellers.ts'
import { termsOf } from './terms.ts'

export interface ServerParts {
  version: string
  sellers: Sellers
  purchases: Purchases
  confirmations: Confirmations
  /** Nothing is paid before a person has agreed to its price. */
  confirm: boolean
  maxAmount: string
  nameOf(purchase: Purchase): string
  /** The text of the tool `spending`. */
  spending(): Promise<string>
  /** To be called with the id of a request, and what to do once its answer is written. */
  whenAnswered(id: string | number, handedOver: () => void): void
}

type Answer = CallToolResult | InputRequiredResult

const SPENDING: Tool = {
  name: 'spending',
  description:
    'What this bridge has paid today and before, what is left of the budget, answers that were paid for and wait to be fetched, and which sellers it reaches. Free.',
  inputSchema: { type: 'object', properties: {}, additionalProperties: false },
  annotations: { readOnlyHint: true },
}
const CONFIRM: Tool = {
  name: 'confirm_payment',
  description:
    'Makes the payment whose price another tool has just told, and answers what was bought. Call it only after the user has agreed to that price.',
  inputSchema: {
    type: 'object',
    properties: { code: { type: 'string', description: 'The code that was told with the price.' } },
    required: ['code'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true },
}
const QUESTION = 'pay'

/** The MCP server of the bridge, for one connection. */
export function createBridgeServer(parts: ServerParts): Server {
  const { sellers, purchases, confirmations, confirm } = parts
  const own = [SPENDING, ...(confirm ? [CONFIRM] : [])]
  const server = new Server(
    { name: 'paystile-bridge', version: parts.version },
    { capabilities: { tools: {} }, instructions: instructionsFor(parts) },
  )
  const tools = async (): Promise<Map<string, SellerTool>> =>
    nameTools(
      await sellers.open(),
      own.map(({ name }) => name),
    )

  server.setRequestHandler('tools/list', async () => {
    const named = [...(await tools())]
    return { tools: [...named.map(([name, { listing }]) => listed(name, listing, parts)), ...own] }
  })

  server.setRequestHandler('tools/call', async ({ params }, context): Promise<Answer> => {
    const { name, arguments: args = {} } = params
    if (name === SPENDING.name) return { content: [{ type: 'text', text: await parts.spending() }] }
    if (confirm && name === CONFIRM.name) return payByCode(args.code, context)
    const named = await tools()
    const tool = named.get(name)
    if (!tool) {
      const names = [...named.keys(), ...own.map((one) => one.name)].join(', ')
      const message = `There is no tool ${JSON.stringify(name.slice(0, 128))}; there are ${names}.`
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    const purchase = tool.purchaseOf(args)
    if (typeof purchase === 'string') return failure(purchase)
    if (!confirm) return answer(await purchases.make(purchase, undefined), purchase, context)
    return payIfAgreed(purchase, context)
  })

  /** The first time the price is asked for; called again with the person's word, it is paid. */
  async function payIfAgreed(purchase: Purchase, context: ServerContext): Promise<Answer> {
    const said = inputResponse(context.mcpReq.inputResponses, QUESTION)
    // The code says which question was answered: the same call may have been made again since, on other terms.
    const code = said.kind === 'elicit' ? context.mcpReq.requestState() : undefined
    const quote = takeQuote(code)
    if (said.kind === 'elicit' && said.action !== 'accept')
      return failure('The user did not agree to the price. Nothing was paid.')
    const isForThis = quote?.name === parts.nameOf(purchase)
    return answer(await purchases.make(purchase, agreedTo(isForThis ? quote : undefined)), purchase, context)
  }

  async function payByCode(code: unknown, context: ServerContext): Promise<Answer> {
    const quote = takeQuote(code)
    if (!quote)
      return failure(
        'There is no price with that code; codes are valid once, for ten minutes. Call the tool again for a new one.',
      )
    return answer(await purchases.make(quote.purchase, agreedTo(quote)), quote.purchase, context)
  }

  const takeQuote = (code: unknown): Quote | undefined =>
    typeof code === 'string' ? confirmations.take(code) : undefined

  function answer(made: Made, purchase: Purchase, context: ServerContext): Answer {
    if (made.kind === 'answered') {
      parts.whenAnswered(context.mcpReq.id, made.handedOver)
      return made.result
    }
    const terms = termsOf(made.offer)
    const { amountMicro, network, scheme, payTo } = terms
    const place = findNetwork(network.id)?.name ?? network.id
    const most = `${scheme === 'upto' ? 'up to ' : ''}${microToDollars(amountMicro)}`
    const price = `${most} in USDC on ${place} to ${hostOf(purchase)} (account ${payTo}) for ${describePurchase(purchase)}`
    const quote = confirmations.ask({ name: parts.nameOf(purchase), purchase, terms })
    if (canElicit(server, context)) {
      const message = `Pay ${price}?`
      const question = inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: {} } })
      return inputRequired({ inputRequests: { [QUESTION]: question }, requestState: quote.code })
    }
    return {
      content: [
        {
          type: 'text',
          text: `This costs ${price}. Nothing was paid yet. Tell the user, and if the user agrees, call confirm_payment with code ${quote.code} within ten minutes.`,
        },
      ],
    }
  }
  return server
}

/** In this mode nothing may be signed that was not agreed to, not even for nothing. */
const agreedTo = (quote: Quote | undefined): Agreed => quote?.terms ?? 'nothing'

function listed(name: string, listing: Tool, { confirm, maxAmount }: ServerParts): Tool {
  const how = confirm ? 'after the user has agreed to the price' : 'by itself'
  const note = `This bridge pays what it costs ${how}, at most ${maxAmount} a call: call it without any payment.`
  return { ...listing, name, description: `${listing.description ?? ''} ${note}`.trim() }
}

function instructionsFor({ confirm, maxAmount }: ServerParts): string {
  const how = confirm ? ' once the user has agreed to the price' : ''
  return `The tools cost money, which this bridge pays in USDC${how}, at most ${maxAmount} a call and within a budget for the day. The same call costs again; after an error that says that a payment may still be charged, the same call continues that payment. The tool spending shows what was spent.`
}

/** Each request says so in the protocol of 2026-07-28, the connection in those before. */
function canElicit(server: Server, { mcpReq }: ServerContext): boolean {
  const envelope: Record<string, unknown> = mcpReq.envelope ?? {}
  const told = envelope[CLIENT_CAPABILITIES_META_KEY] ?? server.getClientCapabilities() ?? {}
  const { elicitation } = told as { elicitation?: { form?: object; url?: object } }
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
}
