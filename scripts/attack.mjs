import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { runChild } from './child.mjs'
import { ensureBuilt, ensureInstalled, packageBin, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

// Runs every attack against the standalone server as a process of its own; arguments choose files, as for npm test.
await runMain(async () => {
  const filters = process.argv.slice(2)
  await ensureInstalled()
  await ensureChain()
  await ensureBuilt()
  const folder = mkdtempSync(join(tmpdir(), 'paystile-attack-'))
  try {
    const report = join(folder, 'report.json')
    const { code, interrupted } = await runChild(
      process.execPath,
      [
        packageBin('vitest', 'vitest.mjs'),
        ...['run', '--reporter=dot', '--reporter=json', `--outputFile.json=${report}`],
        ...(filters.length > 0 ? filters.map((filter) => join('test/attacks', filter)) : ['test/attacks/']),
      ],
      { cwd: root, env: { ...process.env, PAYSTILE_WORLD: 'process' } },
    )
    if (interrupted) process.exit(130)
    const results = existsSync(report) ? readResults(report) : []
    const failed = printRows(results, filters.length > 0)
    process.exitCode = failed > 0 || code !== 0 ? 1 : 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

function readResults(file) {
  return JSON.parse(readFileSync(file, 'utf8')).testResults.flatMap(({ name, assertionResults }) =>
    assertionResults.map(({ fullName, status }) => ({ file: basename(name), fullName, status })),
  )
}

/** Prints one line per row; returns the number of rows that did not pass. */
function printRows(results, partly) {
  const rows = JSON.parse(readFileSync(join(root, 'test/attacks/rows.json'), 'utf8'))
  let failed = 0
  let passed = 0
  for (const [row, what] of Object.entries(rows)) {
    const own = results.filter(({ fullName }) => rowsOf(fullName).includes(row))
    if (own.length === 0 && partly) continue
    const good = own.length > 0 && own.every(({ status }) => status === 'passed')
    if (good) passed++
    else failed++
    const files = [...new Set(own.map(({ file }) => file))].join(' ') || 'nowhere'
    const tests = `${own.length} ${own.length === 1 ? 'test' : 'tests'}`
    console.log(`${row.padStart(2)}  ${good ? 'passed' : 'FAILED'}  ${what} (${tests}: ${files})`)
  }
  const others = results.filter(
    ({ fullName, status }) => rowsOf(fullName).length === 0 && status !== 'passed',
  )
  for (const { fullName, file } of others) console.log(` -  FAILED  ${fullName} (${file})`)
  console.log(`${passed} attacks passed, ${failed} failed`)
  return failed + others.length
}

function rowsOf(fullName) {
  return [...fullName.matchAll(/attack (\d+(?:, \d+)*):/g)].flatMap(([, numbers]) => numbers.split(', '))
}
