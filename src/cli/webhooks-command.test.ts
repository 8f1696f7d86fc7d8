import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cli } from '../../test/e2e/cli-terminal.ts'
import { openSqliteStore } from '../stores/sql/sqlite.ts'
import { endpointId } from '../webhooks/endpoint-id.ts'

test('two lists at once are refused before anything is asked', async () => {
  expect(await cli({}, 'webhooks', 'list', '--parked', '--waiting')).toEqual({
    ...{ code: 1, output: '' },
    errors: '--waiting and --parked are two lists: ask for one of them.\n',
  })
})

describe('of two endpoints on one host', () => {
  const urls = ['http://localhost:1/orders', 'http://localhost:1/books']
  const ids = urls.map(endpointId)
  let dataDir: string
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'paystile-webhooks-'))
  })
  afterEach(() => rm(dataDir, { recursive: true, force: true }))

  const env = () => ({
    ...{ DATA_DIR: dataDir, SVC_MANAGED_INFRA: 'none', SVC_NETWORK: 'testnet' },
    ...{ SVC_WALLET_ADDRESS: `0x${'a1'.repeat(20)}`, SVC_SECRET_KEY: '11'.repeat(32) },
    RESOURCE_ENDPOINT: 'https://api.example.com/v1/{resourceId}',
    ...{
      PLANS: '[{"planId":"basic","unitAmount":"$1.00"}]',
      TOKEN_SECRET: 'correct-horse-battery-staple-0123',
    },
    ...{ WEBHOOK_URL: urls.join(','), WEBHOOK_ALLOW_HOSTS: 'localhost:1' },
  })

  test('each secret is shown with the id of its endpoint', async () => {
    const { code, output, errors } = await cli(env(), 'webhooks', 'secret')
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    const lines = output.trim().split('\n')
    expect(lines).toEqual(ids.map((id) => expect.stringMatching(`^localhost:1  ${id}  whsec_`)))
    const { secrets } = JSON.parse((await cli(env(), 'webhooks', 'secret', '--json')).output)
    expect(secrets).toEqual(
      ids.map((endpoint, index) => ({
        ...{ endpoint, host: 'localhost:1' },
        secrets: [lines[index]!.split('  ')[2]],
      })),
    )
  })

  test('each answer to the example is shown with the id of its endpoint', async () => {
    await openSqliteStore({ path: join(dataDir, 'paystile.db') }).close()
    const { output, errors } = await cli(env(), 'webhooks', 'test')
    expect(errors).toBe('')
    const lines = output.trim().split('\n')
    expect(lines).toEqual(ids.map((id) => expect.stringMatching(`^error +localhost:1  ${id}  `)))
  })
})
