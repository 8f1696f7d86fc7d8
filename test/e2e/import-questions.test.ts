import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { runCli } from '../../src/cli/run-cli.ts'
import { sitDown } from './person.ts'

const PETS = fileURLToPath(new URL('../fixtures/openapi/pet-store.yaml', import.meta.url))
const ENTER = '\r'
const DOWN = '\u001b[B'

let dataDir: string
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-import-'))
})
afterEach(() => rm(dataDir, { recursive: true, force: true }))

test('at a terminal prices are asked for once and for single routes, and nothing is written before a yes', async () => {
  const argv = ['import', PETS, '--server', 'http://localhost:8080']
  const hesitant = sitDown({ DATA_DIR: dataDir })
  const stopped = runCli(hesitant.terminal, argv)
  await hesitant.answer('Price per call of the 5 routes without a price', 'lots', ENTER)
  await hesitant.answer('a decimal number', '\b\b\b\b', '0.01', ENTER)
  await hesitant.answer('Another price for one of them?', ENTER)
  await hesitant.answer('Save these routes?', 'n')
  expect(await stopped).toBe(1)
  await expect(stat(join(dataDir, 'config.json'))).rejects.toThrow('ENOENT')

  const person = sitDown({ DATA_DIR: dataDir })
  const done = runCli(person.terminal, argv)
  await person.answer('Price per call of the 5 routes without a price', '$0.01', ENTER)
  await person.answer('Another price for one of them?', 'y')
  await person.answer('Which route?', DOWN, ENTER)
  await person.answer('Price per call of POST /pet', '$0.07', ENTER)
  await person.answer('Another price for one of them?', ENTER)
  await person.answer('Save these routes?', ENTER)
  expect(await done).toBe(0)
  const { values } = JSON.parse(await readFile(join(dataDir, 'config.json'), 'utf8'))
  expect(values.PROXY_TO_BASE_URL).toBe('http://localhost:8080')
  const prices = values.ROUTES.map(({ routeId, unitAmount }: Record<string, string>) => [routeId, unitAmount])
  expect(prices).toContainEqual(['addPet', '$0.07'])
  expect(prices).toContainEqual(['updatePet', '$0.01'])
  expect(prices).toContainEqual(['placeOrder', '$0.05'])
})
