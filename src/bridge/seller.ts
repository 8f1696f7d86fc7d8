import type { Tool } from '@modelcontextprotocol/server'
import type { Purchase } from './purchase.ts'

/** A tool of the bridge that buys something. */
export interface SellerTool {
  /** Its name is the seller's own; other sellers may have the same. */
  listing: Tool
  /** A text says what is wrong with the arguments. */
  purchaseOf(args: Record<string, unknown>): Purchase | string
}

export interface Seller {
  url: string
  /** What was found at the address. */
  kind: 'gateway' | 'MCP server' | 'paid address'
  tools: SellerTool[]
  /** What of it cannot be offered, and why. */
  faults?: string[]
}

/** What every model takes as the name of a tool. */
export const MAX_NAME = 64

export function toolName(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, MAX_NAME)
}
