import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const checker = fileURLToPath(new URL('../scripts/check-imports.mjs', import.meta.url))
const fixture = fileURLToPath(new URL('./fixtures/import-rules', import.meta.url))

// One broken rule per file; the files called allowed.ts, and the unit test that imports a store, are legal. cli/main.ts
// imports uses-testing.ts only when it runs, which counts as well.
const broken = [
  'no-circular: src/buyer/chicken.ts → src/buyer/egg.ts',
  'no-unresolvable: src/buyer/leads-nowhere.ts → ./absent.ts',
  'outside-table: src/utils/stray.ts → src/protocol/plan.ts',
  'production-alone: src/cli/main.ts → src/testing/fakes.ts',
  'pure-engine: src/engine/uses-crypto.ts → crypto',
  'pure-engine: src/engine/uses-http.ts → http',
  'pure-engine: src/engine/uses-viem.ts → viem',
  'pure-rules: src/rules/uses-timers.ts → timers/promises',
  'pure-without-zod: src/rules/uses-zod-type.ts → zod',
  'table-checks: src/checks/uses-server.ts → src/server/uses-testing.ts',
  'table-cli: src/cli/uses-testing.ts → src/testing/fakes.ts',
  'table-engine: src/engine/uses-store.ts → src/stores/memory.ts',
  'table-frameworks: src/frameworks/uses-engine.ts → src/engine/allowed.ts',
  'table-index: src/index.ts → src/cli/uses-testing.ts',
  'table-protocol: src/protocol/reaches-up.ts → src/errors.ts',
  'table-rules: src/rules/uses-port-type.ts → src/ports.ts',
  'table-server: src/server/uses-testing.ts → src/testing/fakes.ts',
  'table-settlement: src/settlement/uses-store.ts → src/stores/memory.ts',
  'table-transports: src/transports/uses-store-lazily.ts → src/stores/memory.ts',
]

test('the import checker reports every broken rule and nothing else', () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [checker, fixture], { encoding: 'utf8' })
  const reported = stdout
    .split('\n')
    .filter((line) => line.includes(' → '))
    .map((line) => line.replace(/\S*node_modules\/([^/]+)\S*/, '$1'))
  expect(stderr).toBe('')
  expect(reported.sort()).toEqual(broken)
  expect(status).toBe(1)
})
