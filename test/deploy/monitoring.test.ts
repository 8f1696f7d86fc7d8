import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { createMetrics } from '../../src/server/observe/create-metrics.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(root, path), 'utf8')
const promtool = async (...args: string[]) =>
  (await promisify(execFile)('promtool', args, { cwd: root })).stdout

const RULES = 'deploy/prometheus/paystile-rules.yaml'
const DASHBOARD = 'deploy/grafana/paystile.json'

interface Panel {
  id: number
  title: string
  gridPos: { x: number; y: number; w: number; h: number }
  targets: Array<{ expr: string }>
}
const { panels } = JSON.parse(read(DASHBOARD)) as { panels: Panel[] }
const folder = mkdtempSync(join(tmpdir(), 'paystile-deploy-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the alarms', () => {
  test('are valid rules', async () => {
    expect(await promtool('check', 'rules', RULES)).toContain('SUCCESS')
  })

  test('sound when they should and not before, also for the first event of a kind', async () => {
    expect(await promtool('test', 'rules', 'test/deploy/rules.yaml')).toContain('SUCCESS')
  })

  test('are each tried by a case', () => {
    const named = [...read(RULES).matchAll(/- alert: (\w+)/g)].map(([, name]) => name!)
    const cases = read('test/deploy/rules.yaml')
    expect(named.length).toBeGreaterThan(5)
    // A case that expects no alert does not count.
    expect(named.filter((name) => !cases.includes(`- alertname: ${name}\n`))).toEqual([])
  })

  test('leave out only kinds of alert that exist', () => {
    const kinds = read('docs/operations.md')
    const left = new Set(
      [...read(RULES).matchAll(/kind!~"([^"]+)"/g)].flatMap(([, list]) => list!.split('|')),
    )
    expect([...left].filter((kind) => !kinds.includes(`\`${kind}\``))).toEqual([])
  })

  test('come with settings that Prometheus reads', async () => {
    // The token is a file of the operator's machine.
    writeFileSync(join(folder, 'token'), 'a token')
    writeFileSync(join(folder, 'paystile-rules.yaml'), read(RULES))
    const settings = read('deploy/prometheus/prometheus.yaml').replace(
      '/etc/prometheus/paystile-token',
      'token',
    )
    writeFileSync(join(folder, 'prometheus.yaml'), settings)
    expect(await promtool('check', 'config', join(folder, 'prometheus.yaml'))).toContain('SUCCESS')
  })
})

describe('the dashboard', () => {
  test('has panels that do not overlap, each with a number of its own', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
    for (const [index, a] of panels.entries()) {
      const overlapping = panels.slice(index + 1).filter((b) => {
        const across = a.gridPos.x < b.gridPos.x + b.gridPos.w && b.gridPos.x < a.gridPos.x + a.gridPos.w
        const down = a.gridPos.y < b.gridPos.y + b.gridPos.h && b.gridPos.y < a.gridPos.y + a.gridPos.h
        return across && down
      })
      expect(overlapping.map(({ title }) => `${a.title} over ${title}`)).toEqual([])
    }
  })

  test('asks questions that Prometheus understands', async () => {
    const rules = panels
      .flatMap(({ targets }) => targets)
      .map(({ expr }, index) => {
        const plain = expr.replaceAll('$__rate_interval', '5m').replaceAll('$job', 'paystile')
        return { record: `panel:${index}`, expr: plain }
      })
    const file = join(folder, 'panels.yaml')
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: 'panels', rules }] }))
    expect(await promtool('check', 'rules', file)).toContain('SUCCESS')
  })
})

test.each([RULES, DASHBOARD, 'test/deploy/rules.yaml'])(
  '%s names only figures that /metrics has',
  async (file) => {
    const shown = await createMetrics().text()
    const types = new Map(
      [...shown.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name!, type!]),
    )
    const named = new Set([...read(file).matchAll(/\bsvc_\w+/g)].map(([name]) => name))
    const isKnown = (name: string): boolean => {
      const plain = name.replace(/_(bucket|sum|count)$/, '')
      return types.has(name) ? types.get(name) !== 'histogram' : types.get(plain) === 'histogram'
    }
    expect(named.size).toBeGreaterThan(5)
    expect([...named].filter((name) => !isKnown(name))).toEqual([])
  },
)
