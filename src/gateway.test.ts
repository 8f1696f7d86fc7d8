import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { UnavailableError } from './errors.ts'
import { createGateway } from './gateway.ts'
import type { Store } from './ports.ts'

let dataDir: string
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'paystile-gateway-'))
})
afterAll(() => rm(dataDir, { recursive: true, force: true }))

describe('a start that fails', () => {
  const options = () => ({
    network: 'base-sepolia' as const,
    rpcUrl: 'http://127.0.0.1:1',
    facilitatorUrl: 'http://127.0.0.1:1',
    walletAddress: `0x${'a1'.repeat(20)}` as const,
    plans: [{ planId: 'basic', unitAmount: '$1.00' }],
    tokenSecret: 'a shared secret of more than thirty-two bytes',
    store: { dataDir },
    onAlert: () => {},
  })

  test.each([
    ['while the books are opened', 'list'],
    ['when the engine starts', 'takeDue'],
  ] as const)('closes its store, so that the same process can try again: %s', async (_when, method) => {
    const fault = () => Promise.reject(new UnavailableError('The store is unavailable: its disk is full'))
    const failing = { store: (store: Store): Store => ({ ...store, [method]: fault }) }
    await expect(createGateway(options(), {}, failing)).rejects.toThrow('its disk is full')
    const gateway = await createGateway(options())
    await gateway.close()
  })
})
