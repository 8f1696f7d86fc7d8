import type { NetworkChoice, SetupState } from '../shared/wire.ts'

/** A network that is chosen; undefined: its name is unknown. */
export interface Chosen {
  named: string
  network: NetworkChoice | undefined
}

const DEFAULT = 'testnet'

/** The chosen networks in their order; the first is preferred. */
export function chosenNetworks(
  values: Readonly<Record<string, string>>,
  networks: readonly NetworkChoice[],
): Chosen[] {
  const names = (values.SVC_NETWORK || DEFAULT).split(',').map((name) => name.trim())
  return names
    .filter((name) => name !== '')
    .map((named) => ({
      named,
      network: networks.find(({ word, aliases, id }) => [word, id, ...aliases].includes(named)),
    }))
}

/** The setting of one network that a name means: `RPC_URL_137`. */
export function ofOneNetwork(name: string): { plain: string; chainId: number } | undefined {
  const [, plain, chainId] =
    /^(RPC_URL|FACILITATOR_URL|SVC_WALLET_ADDRESS|GAS_WALLET_PRIVATE_KEY|SETTLER_CONTRACT|REFUND_WALLET_PRIVATE_KEY|EXPLORER_TX_URL|CONFIRMATIONS|NATIVE_USD)_([1-9]\d*)$/.exec(
      name,
    ) ?? []
  return plain === undefined ? undefined : { plain, chainId: Number(chainId) }
}

/** A setting of one network is as secret as the same one of all networks. */
export const isSecretName = (name: string, { secrets }: Pick<SetupState, 'secrets'>): boolean =>
  name in secrets || (ofOneNetwork(name)?.plain ?? '') in secrets
