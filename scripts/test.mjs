import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { bundleServer } from './bundle-server.mjs'
import { runChild } from './child.mjs'
import { ensureInstalled, ensureSystem, PrepareError, packageBin, root, runMain } from './prepare.mjs'
import { ensureChain } from './prepare-chain.mjs'

// Programs beyond npm that the tests start.
const python = 'python3 with pycryptodomex and ecdsa'
const systemNeeds = ['redis', 'postgres', 'chromium', 'promtool', 'nginx', python]

const node = process.execPath
const checks = [
  // In several threads it takes as long on two cores, and almost twice the work.
  ['types', () => check(packageBin('typescript-native', 'bin/tsc'), '--noEmit', '--singleThreaded')],
  ['format and lint', () => check(packageBin('@biomejs/biome', 'bin/biome'), 'ci', '--colors=off', '.')],
  ['types of the pages', () => check(packageBin('typescript-native', 'bin/tsc'), '--noEmit', '-p', 'ui')],
  ['import rules', () => check(join(root, 'scripts/check-imports.mjs'))],
]

await runMain(async () => {
  // Arguments go to vitest; with them only the matching tests run, on an up-to-date build.
  const given = process.argv.slice(2)
  if (given.includes('--long')) process.env.PAYSTILE_TEST_LENGTH = 'long'
  const filters = given.filter((argument) => argument !== '--long')
  await ensureInstalled()
  const found = await ensureSystem(systemNeeds)
  process.env.PAYSTILE_TEST_PYTHON = found[python]

  const steps = [...(filters.length > 0 ? [] : checks), ['build', build]]
  let passed = 0
  let failed = 0
  // Two at a time, the longest first: each of them has work for one core.
  const work = async () => {
    for (let step = steps.shift(); step; step = steps.shift()) {
      if (await runStep(...step)) passed++
      else failed++
    }
  }
  await Promise.all([work(), work()])
  const tests = await runTests(filters)
  if (filters.length > 0) console.log('Only the tests asked for; `npm test` alone checks everything.')
  failed += tests.failed
  passed += tests.passed
  console.log(`${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
})

async function runStep(name, run) {
  const startedMs = performance.now()
  const fault = await run()
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  console.log(
    `${fault === undefined ? '✓' : '✗'} ${name} ${fault === undefined ? 'passed' : 'FAILED'} (${seconds} s)`,
  )
  if (fault !== undefined) console.log(fault)
  return fault === undefined
}

async function check(program, ...args) {
  const { code, output, interrupted } = await runChild(node, [program, ...args], { capture: true, cwd: root })
  if (interrupted) process.exit(130)
  return code === 0 ? undefined : output || `exit code ${code}`
}

async function build() {
  try {
    await ensureChain()
    process.env.PAYSTILE_SERVER_PROGRAM = await bundleServer()
    process.env.PAYSTILE_TEST_PACKAGE = await pack()
  } catch (error) {
    if (error instanceof PrepareError) return error.message
    throw error
  }
}

/** Packs the package once for all tests that install it. */
async function pack() {
  const folder = join(root, 'node_modules', '.cache', 'paystile-package')
  mkdirSync(folder, { recursive: true })
  const words = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await promisify(execFile)('npm', words, {
    cwd: root,
    shell: process.platform === 'win32',
  })
  return join(folder, JSON.parse(stdout)[0].filename)
}

async function runTests(filters) {
  const folder = mkdtempSync(join(tmpdir(), 'paystile-test-'))
  try {
    const report = join(folder, 'report.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
    const { code, interrupted } = await runChild(
      node,
      [packageBin('vitest', 'vitest.mjs'), 'run', ...reporters, ...filters],
      { cwd: root },
    )
    if (interrupted) process.exit(130)
    return countTests(code, report, filters)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function countTests(code, reportFile, filters) {
  if (!existsSync(reportFile)) return { passed: 0, failed: complain('vitest ended without a report.') }
  const report = JSON.parse(readFileSync(reportFile, 'utf8'))
  const results = report.testResults.flatMap((file) => file.assertionResults)
  const withStatus = (...statuses) => results.filter((result) => statuses.includes(result.status))
  const passed = withStatus('passed').length
  // Only a name pattern may leave tests out.
  const byName = filters.some((filter) => /^(-t|--testNamePattern)/.test(filter))
  const notRun = byName ? [] : results.filter((result) => !['passed', 'failed'].includes(result.status))
  // A file that breaks outside its tests fails without a failed test.
  const brokenFiles = report.testResults.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((result) => result.status === 'failed'),
  )
  let failed = withStatus('failed').length + brokenFiles.length
  for (const { fullName, status } of notRun) failed += complain(`NOT RUN (${status}): ${fullName}`)
  if (passed + failed === 0) failed += complain('NO TEST RAN.')
  if (code !== 0 && failed === 0) failed += complain(`vitest failed outside its tests (exit code ${code}).`)
  return { passed, failed }
}

function complain(fault) {
  console.log(`✗ ${fault}`)
  return 1
}
