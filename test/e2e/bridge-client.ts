import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { DevAccount } from '../../src/testing/index.ts'
import { SERVER_PROGRAM } from '../server-program.ts'

export interface Answered {
  text: string
  /** All texts of the answer. */
  all: string
  isError: boolean
}

/** An assistant with the bridge as its MCP server, a process of its own. */
export interface Assistant {
  call(name: string, args?: Record<string, unknown>): Promise<Answered>
  tools(): Promise<Array<{ name: string; description?: string; inputSchema: object }>>
  spending(): Promise<Record<string, unknown>>
  /** What the bridge wrote for people. */
  errors(): string
  /** `kill -9`, without a word to the client. */
  kill(): Promise<void>
  close(): Promise<void>
}

type Word = 'accept' | 'decline'

export interface AssistantOptions {
  buyer: DevAccount
  ledger: string
  flags?: readonly string[]
  /** What the person answers; absent: the client cannot ask. */
  person?: (message: string) => Word | Promise<Word>
  mode?: 'legacy' | 'auto'
}

export async function startAssistant(urls: readonly string[], options: AssistantOptions): Promise<Assistant> {
  const { buyer, ledger, flags = ['--max-amount', '$0.05', '--max-total', '$1.00'], person } = options
  const client = new Client(
    { name: 'test', version: '1.0.0' },
    {
      capabilities: person ? { elicitation: { form: {} } } : {},
      versionNegotiation: { mode: options.mode ?? 'legacy' },
    },
  )
  if (person) {
    client.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: await person(params.message),
      content: {},
    }))
  }
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [SERVER_PROGRAM, 'bridge', ...urls, '--ledger', ledger, ...flags],
    env: { PATH: process.env.PATH ?? '', BUYER_PRIVATE_KEY: buyer.privateKey },
    stderr: 'pipe',
  })
  let written = ''
  transport.stderr?.on('data', (chunk: Buffer) => {
    written += chunk.toString()
  })
  await client.connect(transport)
  const assistant: Assistant = {
    async call(name, args = {}) {
      const { content, isError } = await client.callTool({ name, arguments: args }, { timeout: 100_000 })
      const texts = (content as Array<{ type: string; text?: string }>).map(({ text = '' }) => text)
      return { text: texts[0] ?? '', all: texts.join('\n'), isError: isError === true }
    },
    tools: async () => (await client.listTools()).tools as never,
    spending: async () => JSON.parse((await assistant.call('spending')).text),
    errors: () => written,
    async kill() {
      const { pid } = transport
      const closed = new Promise<void>((done) => {
        client.onclose = done
      })
      process.kill(pid!, 'SIGKILL')
      await closed
    },
    close: () => client.close(),
  }
  return assistant
}

export async function newFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'paystile-bridge-'))
  return { path, remove: () => rm(path, { recursive: true, force: true }) }
}
