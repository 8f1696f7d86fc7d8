import { accessSync, constants, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { describeSpending } from '../bridge/describe-spending.ts'
import { openLedger } from '../bridge/ledger.ts'
import { ledgerFile, runBridge } from '../bridge/run-bridge.ts'
import { ConfigError } from '../errors.ts'
import { dollarsToMicro, priceFault } from '../protocol/amount.ts'
import { printableLine } from '../protocol/printable.ts'
import { VERSION } from '../version.ts'
import { readKey } from './read-key.ts'
import type { Report, Terminal } from './terminal.ts'

export interface BridgeFlags {
  'max-amount'?: string | undefined
  'max-total'?: string | undefined
  'allow-host': readonly string[]
  confirm?: boolean | undefined
  'key-file'?: string | undefined
  ledger?: string | undefined
  spending?: boolean | undefined
}

/** Lets an assistant buy at these addresses; or shows what was spent. Standard output belongs to MCP alone. */
export async function bridge(
  terminal: Terminal,
  urls: readonly string[],
  flags: BridgeFlags,
): Promise<Report | undefined> {
  const folder = flags.ledger ?? join(homedir(), '.paystile', 'bridge')
  if (flags.spending === true) return showSpending(folder)
  const faults: string[] = []
  const limits = readLimits(flags, faults)
  const allowedHosts = readHosts(urls, flags['allow-host'], faults)
  const key = readKey(terminal.env, flags['key-file'], faults)
  if (faults.length === 0) makeFolder(folder, faults)
  if (faults.length > 0) throw new ConfigError(faults)
  const account = privateKeyToAccount(key!)
  const say = (line: string) => void terminal.errors.write(`${printableLine(line)}\n`)
  say(
    `paystile bridge pays from ${account.address}: at most ${limits.maxAmount} at once and ${limits.maxTotal} a day, to ${allowedHosts.join(', ')}`,
  )
  say(`the ledger is ${ledgerFile(folder)}`)
  await runBridge({
    ...{ urls, account, ...limits, allowedHosts, folder, say, version: VERSION },
    confirm: flags.confirm === true,
    input: terminal.input,
    output: terminal.output,
  })
  return undefined
}

function readLimits(flags: BridgeFlags, faults: string[]) {
  const { 'max-amount': maxAmount, 'max-total': maxTotal } = flags
  for (const [name, value, what] of [
    ['--max-amount', maxAmount, "Say the most that one payment may be, for example --max-amount '$0.05'."],
    ['--max-total', maxTotal, "Say the most that may be spent in a day, for example --max-total '$2.00'."],
  ] as const) {
    const wrong = value === undefined ? undefined : priceFault(value)
    if (value === undefined) faults.push(what)
    else if (wrong !== undefined) faults.push(`${name} ${value} ${wrong}`)
  }
  if (faults.length === 0 && dollarsToMicro(maxAmount!) > dollarsToMicro(maxTotal!))
    faults.push(
      `--max-amount ${maxAmount} is more than --max-total ${maxTotal}; raise the total, or lower the amount.`,
    )
  return { maxAmount: maxAmount!, maxTotal: maxTotal! }
}

function readHosts(urls: readonly string[], named: readonly string[], faults: string[]): string[] {
  if (urls.length === 0)
    faults.push('Name at least one address that sells, for example paystile bridge https://api.example.com')
  const hosts = new Set<string>()
  for (const host of named) {
    const read = URL.canParse(`https://${host}`) ? new URL(`https://${host}`).host : ''
    if (read === host.toLowerCase()) hosts.add(read)
    else
      faults.push(`--allow-host ${host} is no host; expected one such as api.example.com or localhost:3000`)
  }
  const all = new Set<string>()
  for (const url of urls) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) {
      faults.push(`${url} is no address; expected one such as https://api.example.com`)
      continue
    }
    const { host, username } = new URL(url)
    if (username !== '') faults.push(`An address of ${host} holds a user name; leave it out.`)
    if (hosts.size > 0 && !hosts.has(host))
      faults.push(
        `${url} is not allowed by --allow-host; add --allow-host ${host}, or leave the address out.`,
      )
    all.add(host)
  }
  return [...(named.length > 0 ? hosts : all)]
}

function makeFolder(folder: string, faults: string[]): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK)
  } catch (cause) {
    faults.push(`--ledger ${folder} cannot be written: ${cause instanceof Error ? cause.message : cause}`)
  }
}

async function showSpending(folder: string): Promise<Report> {
  const spending = await describeSpending(openLedger(ledgerFile(folder)))
  const lines = spending.payments.map(({ at, amount, state, for: what, transaction }) =>
    [at, amount, state, what, transaction].filter((part) => part !== undefined).join('  '),
  )
  return {
    lines: [...lines, `${spending.spentToday} on ${spending.day} (UTC), in ${ledgerFile(folder)}`],
    json: { ok: true, ...spending },
  }
}
