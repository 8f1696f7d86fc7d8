import { LISTS, savedNamesWith } from '../../config/config-file.ts'
import { createOptionReader } from '../../config/option-reader.ts'
import type { Configuration } from '../../config/read-configuration.ts'
import { readCustomNetworks } from '../../config/read-custom-networks.ts'
import { type Env, isSet, type ReadFile, readVariable } from '../../config/read-variable.ts'
import { secretHint } from '../../config/secret-hint.ts'
import { isSecret } from '../../config/secret-variables.ts'
import type { Network } from '../../protocol/network.ts'
import { NETWORKS } from '../../protocol/networks.ts'

export interface SetupState {
  configured: boolean
  values: Record<string, unknown>
  secrets: Record<string, { set: boolean; hint?: string }>
  /** Set by the environment: shown, not editable. */
  locked: string[]
  missing: string[]
  faults: string[]
  /** All that can be chosen. */
  networks: NetworkChoice[]
}

interface NetworkChoice {
  id: string
  word: string
  aliases: string[]
  name: string
  chainId: number
  asset: string
  testnet: boolean
  /** The symbol of the coin that pays for gas. */
  coin: string
  /** A facilitator is known that settles there. */
  facilitator: boolean
  /** Where test tokens are free. */
  faucet?: string
}

/** What the setup page shows. Of a secret it shows only that it is set, and a hint which one it is. */
export function describeState(parts: {
  configured: boolean
  configuration: Configuration
  environment: Env
  fileFaults: readonly string[]
  dataDir: string
  readFile: ReadFile
}): SetupState {
  const { configuration, environment, readFile } = parts
  const values: SetupState['values'] = { DATA_DIR: parts.dataDir }
  const secrets: SetupState['secrets'] = {}
  const names = savedNamesWith(configuration.env)
  for (const name of names) {
    const found = readVariable(name, configuration.env, readFile)
    const text = found && 'text' in found ? found.text : undefined
    if (isSecret(name)) {
      const hint = text === undefined ? undefined : secretHint(name, text)
      secrets[name] = { set: found !== undefined, ...(hint !== undefined && { hint }) }
    } else if (text !== undefined) values[name] = LISTS.has(name) ? listOf(text) : text
  }
  return {
    configured: parts.configured,
    values,
    secrets,
    locked: ['DATA_DIR', ...names.filter((name) => isSet(name, environment))],
    missing: configuration.missing,
    faults: [...parts.fileFaults, ...configuration.faults],
    networks: [...NETWORKS, ...readCustomNetworks(createOptionReader(configuration.options, {}))].map(
      choiceOf,
    ),
  }
}

function choiceOf({
  id,
  word,
  aliases,
  name,
  chainId,
  token,
  testnet,
  native,
  facilitatorUrl,
  faucets,
}: Network): NetworkChoice {
  return {
    id,
    word,
    aliases: [...aliases],
    name: testnet ? `${name} (test money)` : name,
    chainId,
    asset: token.address,
    testnet,
    coin: native.symbol,
    facilitator: facilitatorUrl !== null,
    ...(faucets && { faucet: faucets.token }),
  }
}

function listOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
