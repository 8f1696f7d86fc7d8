import { open, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ConfigError } from '../errors.ts'
import { readTime } from '../protocol/read-time.ts'
import { load } from './load.ts'
import { openBackstage } from './open-backstage.ts'
import { linesOf } from './operator-api.ts'
import { type Report, type Terminal, write } from './terminal.ts'
import { startWaiting } from './waiting.ts'

export interface ExportArgs {
  json: boolean
  /** `sales` or `credits`. */
  of: string
  format: string
  from: string | undefined
  to: string | undefined
  out: string | undefined
}

/** Writes all sales for accounting, to a file or to standard output. */
export async function exportBooks(terminal: Terminal, args: ExportArgs): Promise<Report | undefined> {
  const { json, out } = args
  const query = queryOf(args)
  const path = out === undefined ? undefined : await filePath(out)
  const backstage = await openBackstage(await load(terminal), 'look')
  const waiting = await startWaiting(terminal, json, 'Exporting')
  try {
    const answer = await backstage.ask(`/export?${query}`)
    let sales = 0
    async function* counted(): AsyncGenerator<string> {
      // The header line is not a sale. No field contains a line break.
      let records = query.get('format') === 'csv' ? -1 : 0
      for await (const line of linesOf(answer)) {
        yield line
        records += 1
        sales = Math.max(0, records)
        waiting.at(sales, undefined)
      }
    }
    if (path === undefined) {
      await (json ? writeArray(terminal, counted()) : writeLines(terminal, counted()))
      return undefined
    }
    await writeFile(path, counted())
    const one = args.of === 'credits' ? 'purchase of credits' : 'sale'
    const all = args.of === 'credits' ? 'purchases of credits' : 'sales'
    const line = `${sales} ${sales === 1 ? one : all} of ${backstage.place} in ${path}`
    return { lines: [line], json: { via: backstage.via, out: path, format: args.format, sales } }
  } finally {
    waiting.end()
    await backstage.close()
  }
}

/** Looked at before anything is asked: a long export would come to nothing at its end. */
async function filePath(out: string): Promise<string> {
  if (out.trim() === '') throw new ConfigError(['--out is empty; name a file, for example --out sales.csv.'])
  const path = resolve(out)
  const found = await stat(path).catch(() => undefined)
  if (found?.isDirectory())
    throw new ConfigError([
      `--out ${path} is a folder; name a file in it, for example ${join(path, 'sales.csv')}.`,
    ])
  if (found && !found.isFile()) throw new ConfigError([`--out ${path} is no file, so it cannot be replaced.`])
  return path
}

function queryOf({ json, of, format, from, to, out }: ExportArgs): URLSearchParams {
  const faults: string[] = []
  if (format !== 'csv' && format !== 'jsonl') {
    faults.push(`--format is ${JSON.stringify(format)}; it can be csv or jsonl.`)
  }
  if (of !== 'sales' && of !== 'credits') {
    faults.push(`--of is ${JSON.stringify(of)}; it can be sales or credits.`)
  }
  // With --json the document is a list of sales, whichever format a file would have.
  const query = new URLSearchParams({ format: json && out === undefined ? 'jsonl' : format })
  if (of !== 'sales') query.set('of', of)
  for (const [name, text] of Object.entries({ from, to })) {
    if (text === undefined) continue
    const time = readTime(text)
    if (time === undefined) {
      faults.push(
        `--${name} is ${JSON.stringify(text)}; it must be a day (UTC) or a time with its zone, for example --${name} 2030-01-31 or 2030-01-31T12:00:00Z.`,
      )
    } else query.set(name, new Date(time).toISOString())
  }
  const [start, end] = [query.get('from'), query.get('to')]
  if (start !== null && end !== null && Date.parse(end) <= Date.parse(start)) {
    faults.push(`--to ${to} is not after --from ${from}; an export ends before --to.`)
  }
  if (faults.length > 0) throw new ConfigError(faults)
  return query
}

async function writeLines({ output }: Terminal, lines: AsyncIterable<string>): Promise<void> {
  for await (const line of lines) await write(output, `${line}\n`)
}

async function writeArray({ output }: Terminal, lines: AsyncIterable<string>): Promise<void> {
  let before = '[\n'
  for await (const line of lines) {
    await write(output, `${before}${line}`)
    before = ',\n'
  }
  await write(output, before === '[\n' ? '[]\n' : '\n]\n')
}

/** Replaces the file only when the export is complete, so that nobody takes half of it for the year's books. Readable by its owner only. */
async function writeFile(path: string, lines: AsyncIterable<string>): Promise<void> {
  const draft = `${path}.${process.pid}.part`
  const file = await open(draft, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError([`--out ${path} cannot be written (${error.code}).`])
  })
  try {
    try {
      // Unlike `write`, which stores a part where the disk gets full, this stores all of it or throws.
      for await (const line of lines) await file.appendFile(`${line}\n`)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw error
  }
}
