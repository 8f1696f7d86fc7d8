import { type CommandDef, defineCommand } from 'citty'
import { ConfigError } from '../errors.ts'
import { VERSION } from '../version.ts'
import { backupCommands } from './backup-commands.ts'
import { bridgeCommand } from './bridge-command.ts'
import { buyCommand } from './buy-command.ts'
import { SEVERAL } from './check-flags.ts'
import { json, optional } from './command-args.ts'
import { INIT_FLAGS } from './init-flags.ts'
import { keysCommand } from './keys-command.ts'
import { sandboxCommand } from './sandbox-command.ts'
import { settlerCommand } from './settler-command.ts'
import { type Report, type Terminal, tell } from './terminal.ts'
import { webhooksCommand } from './webhooks-command.ts'

/** Every command. Each loads what it needs when it runs: `--help` must not wait for a database driver. */
export function createCommands(terminal: Terminal, onExit: (code: number) => void): CommandDef {
  const run = async (asJson: boolean | undefined, work: () => Promise<Report | undefined>): Promise<void> => {
    onExit(await tell(terminal, asJson === true, work))
  }
  const serve = defineCommand({
    meta: { name: 'serve', description: 'run the standalone server' },
    run: async () => (await import('./serve.ts')).runServe(),
  })
  const init = defineCommand({
    meta: { name: 'init', description: 'ask what is needed and write DATA_DIR/config.json' },
    args: {
      ...Object.fromEntries(
        Object.entries(INIT_FLAGS).map(([flag, { description, hint }]) => [
          flag,
          optional(description, hint),
        ]),
      ),
      'data-dir': optional('the folder of records and configuration (DATA_DIR)', 'folder'),
      yes: { type: 'boolean', description: 'ask nothing: flags and environment say it all' },
      force: { type: 'boolean', description: 'also where records of payments would be left behind' },
      json,
    },
    run: ({ args }) =>
      run(args.json as boolean, async () => {
        return (await import('./init.ts')).initialize(
          terminal,
          args as Record<string, string | boolean | undefined>,
        )
      }),
  })
  const importCommand = defineCommand({
    meta: {
      name: 'import',
      description: 'make routes of an OpenAPI description and write them to DATA_DIR/config.json',
    },
    args: {
      source: { type: 'positional', required: true, description: 'a file or a URL, JSON or YAML' },
      price: optional(
        "for all new routes, '$0.01', or for some, 'GET /pets/*=$0.05'; may be repeated",
        `price${SEVERAL}`,
      ),
      free: optional("routes that cost nothing, 'GET /status'; may be repeated", `route${SEVERAL}`),
      skip: optional("routes that are left out, '/admin/*'; may be repeated", `route${SEVERAL}`),
      server: optional('the backend: a URL, or which of its servers, counted from 1', 'server'),
      'take-prices': { type: 'boolean', description: "the description's prices replace saved ones" },
      prune: { type: 'boolean', description: 'remove saved routes that are not in the description' },
      raw: { type: 'boolean', description: "new routes give the backend's own answers, not wrapped in JSON" },
      'dry-run': { type: 'boolean', description: 'say what would change, and write nothing' },
      'data-dir': optional('the folder of records and configuration (DATA_DIR)', 'folder'),
      yes: { type: 'boolean', description: 'ask nothing' },
      json,
    },
    run: ({ args, rawArgs }) =>
      run(args.json, async () => (await import('./import.ts')).importRoutes(terminal, args, rawArgs)),
  })
  const doctor = defineCommand({
    meta: { name: 'doctor', description: 'ask everything that the server depends on, and say how to fix it' },
    args: {
      public: {
        type: 'boolean',
        description: 'ask the live server over HTTP instead, and say what directories of paid APIs would say',
      },
      url: {
        type: 'positional',
        required: false,
        description: 'with --public: the base URL of the server; default: BASE_URL',
      },
      json,
    },
    run: ({ args }) =>
      run(args.json, async () => {
        const { json: asJson, public: isPublic, url } = args
        if (isPublic === true) return (await import('./doctor-public.ts')).examinePublic(terminal, url)
        if (url !== undefined)
          throw new ConfigError([`${url} is one argument too many, or --public is missing.`])
        return (await import('./doctor.ts')).examine(terminal, asJson === true)
      }),
  })
  const id = { type: 'positional', required: true, description: 'the challenge, as in the list' } as const
  const list = defineCommand({
    meta: { name: 'list', description: 'every payment that should go back and has not yet' },
    args: { json },
    run: ({ args }) =>
      run(args.json, async () => (await import('./refunds.ts')).listRefunds(terminal, args.json === true)),
  })
  const retry = defineCommand({
    meta: { name: 'retry', description: 'try a failed refund again' },
    args: { challenge: id, json },
    run: ({ args }) =>
      run(args.json, async () => (await import('./refunds.ts')).retryRefund(terminal, args.challenge)),
  })
  const resolve = defineCommand({
    meta: { name: 'resolve', description: 'end a refund that you paid by hand' },
    args: {
      challenge: id,
      tx: { ...optional('the transaction that paid it', 'hash'), required: true },
      json,
    },
    run: ({ args }) =>
      run(args.json, async () =>
        (await import('./refunds.ts')).resolveRefund(terminal, args.challenge, args.tx),
      ),
  })
  const refunds = defineCommand({
    meta: { name: 'refunds', description: 'list refunds, try them again, or end them by hand' },
    subCommands: { list, retry, resolve },
  })
  const listed = defineCommand({
    meta: { name: 'list', description: 'purchases of credits, and what is left of them' },
    args: { wallet: optional('only those of this wallet', 'address'), json },
    run: ({ args }) =>
      run(args.json, async () =>
        (await import('./credits.ts')).listCredits(terminal, {
          json: args.json === true,
          wallet: args.wallet,
        }),
      ),
  })
  const show = defineCommand({
    meta: { name: 'show', description: 'the credits of one purchase' },
    args: { challenge: id, json },
    run: ({ args }) =>
      run(args.json, async () => (await import('./credits.ts')).showCredits(terminal, args.challenge)),
  })
  const close = defineCommand({
    meta: { name: 'close', description: 'end a purchase of credits and refund what is unspent' },
    args: { challenge: id, json },
    run: ({ args }) =>
      run(args.json, async () => (await import('./credits.ts')).closeCredits(terminal, args.challenge)),
  })
  const credits = defineCommand({
    meta: { name: 'credits', description: 'list purchases of credits, show one, or close it' },
    subCommands: { list: listed, show, close },
  })
  const verify = defineCommand({
    meta: {
      name: 'verify',
      description: 'say whether a signed receipt is genuine; exit code 1 if it is not',
    },
    args: {
      file: {
        type: 'positional',
        required: true,
        description: 'a receipt, JSON or response headers that hold one; - is standard input',
      },
      key: optional('public key or did.json in a file; nothing is fetched then', 'file'),
      json,
    },
    run: ({ args }) =>
      run(args.json, async () =>
        (await import('./verify-receipt.ts')).verifyReceipts(terminal, args.file, args.key),
      ),
  })
  const receipts = defineCommand({
    meta: { name: 'receipts', description: 'check signed receipts' },
    subCommands: { verify },
  })
  const reconcile = defineCommand({
    meta: { name: 'reconcile', description: 'compare the chain with the books; exit code 1 if they differ' },
    args: {
      network: optional('compare this network only; default: every one that is configured', 'word'),
      'from-block': optional(
        'the first block to look at, with several networks base=1,polygon=2; default: a day before the first payment',
        'number',
      ),
      json,
    },
    run: ({ args }) =>
      run(args.json, async () => {
        const { reconcileBooks } = await import('./reconcile-books.ts')
        const { json: asJson, network } = args
        return reconcileBooks(terminal, { json: asJson === true, network, fromBlock: args['from-block'] })
      }),
  })
  const migrate = defineCommand({
    meta: {
      name: 'migrate',
      description: 'bring the tables of DATABASE_URL up to date (serve does it automatically)',
    },
    args: { json },
    run: ({ args }) =>
      run(args.json, async () => (await import('./migrate.ts')).migrateTables(terminal, args.json === true)),
  })
  const exportCommand = defineCommand({
    meta: { name: 'export', description: 'every sale, for accounting' },
    args: {
      of: { ...optional('sales or credits', 'what'), default: 'sales' },
      format: { ...optional('csv or jsonl', 'format'), default: 'csv' },
      from: optional('the first day or time, inclusive', 'time'),
      to: optional('the last day or time, exclusive', 'time'),
      out: optional('a file; default: standard output', 'file'),
      json,
    },
    run: ({ args }) =>
      run(args.json, async () => {
        const { exportBooks } = await import('./export-books.ts')
        const { of, format, from, to, out } = args
        return exportBooks(terminal, { json: args.json === true, of, format, from, to, out })
      }),
  })
  const { backup, restore } = backupCommands(terminal, run)
  const keys = keysCommand(terminal, run)
  const webhooks = webhooksCommand(terminal, run)
  return {
    meta: {
      name: 'paystile',
      version: VERSION,
      description: 'Sells access to any API, to autonomous agents, for USDC.',
    },
    subCommands: {
      serve,
      init,
      import: importCommand,
      doctor,
      refunds,
      credits,
      webhooks,
      receipts,
      reconcile,
      export: exportCommand,
      migrate,
      backup,
      restore,
      keys,
      'deploy-settler': settlerCommand(terminal, run),
      buy: buyCommand(terminal, run),
      bridge: bridgeCommand(terminal, run),
      sandbox: sandboxCommand(run),
    },
  } as CommandDef
}
