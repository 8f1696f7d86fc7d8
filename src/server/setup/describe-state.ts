import { LISTS, SAVED_NAMES } from '../../config/config-file.ts'
import type { Configuration } from '../../config/read-configuration.ts'
import { type Env, isSet, type ReadFile, readVariable } from '../../config/read-variable.ts'
import { secretHint } from '../../config/secret-hint.ts'
import { isSecret } from '../../config/secret-variables.ts'
import { NETWORKS } from '../../protocol/network.ts'

export interface SetupState {
  configured: boolean
  values: Record<string, unknown>
  secrets: Record<string, { set: boolean; hint?: string }>
  /** Set by the environment: shown, not editable. */
  locked: string[]
  missing: string[]
  faults: string[]
  networks: Array<{ id: string; word: string; name: string; chainId: number; asset: string }>
}

const NETWORK_NAMES: Record<string, string> = { mainnet: 'Base', testnet: 'Base Sepolia (test money)' }

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
  for (const name of SAVED_NAMES) {
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
    locked: ['DATA_DIR', ...SAVED_NAMES.filter((name) => isSet(name, environment))],
    missing: configuration.missing,
    faults: [...parts.fileFaults, ...configuration.faults],
    networks: NETWORKS.map(({ id, word, chainId, token }) => {
      return { id, word, name: NETWORK_NAMES[word] ?? word, chainId, asset: token.address }
    }),
  }
}

function listOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
