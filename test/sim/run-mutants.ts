import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { History, HistoryOptions } from './history.ts'
import { runHistory } from './history.ts'
import { MUTANTS } from './mutants.ts'
import type { SourceMutant } from './source-mutant.ts'
import { SOURCE_MUTANTS } from './source-mutants.ts'
import { STORMS } from './storms.ts'

const HISTORIES = 2000
/** The build that this file is part of: `<build>/test/sim/run-mutants.js`. */
const build = fileURLToPath(new URL('../..', import.meta.url))

type Run = (seed: number, options?: HistoryOptions) => Promise<History>

/** The first violation within so many histories, by turns in drawn weather and in each storm, or in one storm alone. */
async function hunt(
  run: Run,
  options: HistoryOptions,
  storm?: string,
): Promise<{ seed: number; violation: string } | undefined> {
  const named = STORMS.filter(({ name }) => name === storm).map(({ weather }) => weather)
  if (storm !== undefined && named.length === 0) throw new Error(`there is no storm ${storm}`)
  const every = [undefined, undefined, undefined, ...STORMS.map(({ weather }) => weather)]
  const skies = storm === undefined ? every : named
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const weather = skies[seed % skies.length]
    const { violations } = await run(seed, { ...options, ...(weather && { weather }) })
    if (violations[0] !== undefined) return { seed, violation: violations[0] }
  }
  return undefined
}

/** The simulator with one fragment of the source replaced, loaded from a copy of the build. */
async function mutated({ file, from, to, also }: SourceMutant, folder: string): Promise<Run> {
  const copy = mkdtempSync(join(folder, 'mutant-'))
  cpSync(join(build, 'src'), join(copy, 'src'), { recursive: true })
  cpSync(join(build, 'test'), join(copy, 'test'), { recursive: true })
  const path = join(copy, 'src', `${file}.js`)
  let source = readFileSync(path, 'utf8')
  for (const fragment of [{ from, to }, ...(also ? [also] : [])]) {
    if (source.split(fragment.from).length !== 2)
      throw new Error(`${file}.js does not have the fragment once: ${fragment.from}`)
    source = source.replace(fragment.from, () => fragment.to)
  }
  writeFileSync(path, source)
  return (await import(pathToFileURL(join(copy, 'test/sim/history.js')).href)).runHistory
}

async function main(): Promise<void> {
  Error.stackTraceLimit = 0
  const filter = process.argv[2] ?? ''
  const folder = mkdtempSync(join(tmpdir(), 'paystile-mutants-'))
  const modules = dirname(dirname(createRequire(import.meta.url).resolve('zod/package.json')))
  symlinkSync(modules, join(folder, 'node_modules'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }\n')
  const escaped: string[] = []
  const hunts = [
    ...MUTANTS.map(({ name, mutation }) => ({ name, hunt: () => hunt(runHistory, { mutation }) })),
    ...SOURCE_MUTANTS.map((mutant) => ({
      name: mutant.name,
      hunt: async () => hunt(await mutated(mutant, folder), {}, mutant.storm),
    })),
  ].filter(({ name }) => name.includes(filter))
  try {
    for (const { name, hunt: begin } of hunts) {
      const caught = await begin()
      if (!caught) escaped.push(name)
      const result = caught
        ? `seed ${caught.seed}: ${caught.violation.slice(0, 90)}`
        : `ESCAPED ${HISTORIES} histories`
      console.log(`${caught ? '✓' : '✗'} ${name}\n    ${result}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  console.log(`${hunts.length - escaped.length} of ${hunts.length} mutants caught`)
  process.exitCode = escaped.length > 0 || hunts.length === 0 ? 1 : 0
}

// A mutant may cause unhandled rejections; they are part of its bug.
process.on('unhandledRejection', () => {})

await main()
