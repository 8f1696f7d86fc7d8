import type { Tool } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { Intent } from '../../engine/outcome.ts'
import { GatewayError } from '../../errors.ts'
import { nameFault } from '../../protocol/name-fault.ts'

/** A tool as it is listed, and what calling it means. */
export type McpTool = { listing: Tool } & (
  | { kind: 'free'; text(): string }
  /** Arguments are checked before anything is asked of the buyer, or of the engine. */
  | {
      kind: 'sold'
      intentOf(args: unknown): Intent | GatewayError
      /** The route that it calls, if that takes credits. */
      prepaidRoute?: string
    }
)

/** The JSON Schema of a tool's arguments. */
export function inputSchema(schema: z.ZodObject): Tool['inputSchema'] {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input' })
  return rest as Tool['inputSchema']
}

/** Unknown arguments are refused: a misspelt resourceId would buy something else than was meant. */
export function parseArguments<S extends z.ZodObject>(
  tool: string,
  schema: S,
  args: unknown = {},
): z.infer<S> | GatewayError {
  const parsed = schema.safeParse(args)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  const fault =
    issue.code === 'unrecognized_keys'
      ? `unknown ${issue.keys.map((key) => JSON.stringify(key.slice(0, 80))).join(', ')}`
      : nameFault(parsed.error)
  const takes = Object.keys(schema.shape).join(', ')
  return new GatewayError('INVALID_REQUEST', `arguments of ${tool}: ${fault}. It takes ${takes}.`)
}
