import { expect, test } from 'vitest'
import { readConfiguration } from '../../config/read-configuration.ts'
import { describeState } from './describe-state.ts'

const readFile = () => ''
const stateOf = (environment: Record<string, string>, saved: Record<string, string>) =>
  describeState({
    configured: false,
    configuration: readConfiguration(environment, saved, readFile),
    environment,
    fileFaults: [],
    dataDir: './data',
    readFile,
  })

test('settings of single networks are shown; of their secrets only a hint, and what the environment sets is locked', () => {
  const { values, secrets, locked } = stateOf(
    { CONFIRMATIONS_137: '3' },
    {
      SVC_NETWORK: 'base,polygon',
      RPC_URL_137: 'https://rpc.example/hunter2',
      SVC_WALLET_ADDRESS_137: '0x1',
    },
  )
  expect(values).toMatchObject({ CONFIRMATIONS_137: '3', SVC_WALLET_ADDRESS_137: '0x1' })
  expect(secrets.RPC_URL_137).toEqual({ set: true, hint: 'rpc.example' })
  expect(locked).toEqual(['DATA_DIR', 'CONFIRMATIONS_137'])
  expect(JSON.stringify(values)).not.toContain('hunter2')
})

test('all known networks can be chosen, and described ones', () => {
  const token = { address: `0x${'ab'.repeat(20)}`, decimals: 6, domain: { name: 'USD Coin', version: '2' } }
  const rest = { rpcUrl: 'https://rpc.example/hunter2', explorerTxUrl: 'https://scan.example/tx/' }
  const described = { id: 'eip155:100', word: 'gnosis', name: 'Gnosis', testnet: false, token, ...rest }
  const { networks, values } = stateOf({}, { NETWORKS: JSON.stringify([described]) })
  expect(networks[0]).toMatchObject({ word: 'base', aliases: ['mainnet'], name: 'Base', facilitator: true })
  expect(networks.find(({ word }) => word === 'base-sepolia')).toMatchObject({
    name: 'Base Sepolia (test money)',
    faucet: 'https://faucet.circle.com',
  })
  expect(networks.at(-1)).toEqual({
    id: 'eip155:100',
    word: 'gnosis',
    aliases: [],
    name: 'Gnosis',
    chainId: 100,
    asset: token.address,
    testnet: false,
    coin: 'ETH',
    facilitator: false,
  })
  expect(JSON.stringify({ networks, values })).not.toContain('hunter2')
})
