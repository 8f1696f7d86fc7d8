import type { JSX } from 'preact'
import { RadioCards } from '../choice.tsx'
import { chosenNetworks } from '../networks.ts'
import { useSetupContext } from '../use-setup.ts'
import { NetworkList } from './network-list.tsx'

/** Most sellers begin with one of these. */
const FIRST_CHOICES = [
  { value: 'testnet', text: 'Free test money. Start here.' },
  { value: 'mainnet', text: 'Real USDC.' },
] as const

/** The network that is chosen, if it is one of the first choices. */
export function firstChoice({ form, state }: ReturnType<typeof useSetupContext>): string | undefined {
  const chosen = chosenNetworks(form.values, state.networks)
  const only = chosen.length === 1 ? chosen[0]?.network : undefined
  return FIRST_CHOICES.find(({ value }) => only?.aliases.includes(value))?.value
}

export function FirstNetworks(): JSX.Element {
  const setup = useSetupContext()
  const { networks } = setup.state
  const card = firstChoice(setup)
  const sides = FIRST_CHOICES.map(({ value, text }) => ({
    value: value as string,
    title: networks.find(({ aliases }) => aliases.includes(value))?.name ?? value,
    text,
  }))
  return (
    <>
      {card ? (
        <RadioCards
          legend="Network"
          name="network"
          sides={sides}
          value={card}
          disabled={setup.isLocked('SVC_NETWORK')}
          onChange={(word) => setup.set('SVC_NETWORK', word === 'testnet' ? '' : word)}
        />
      ) : (
        <NetworkList />
      )}
      {setup.isLocked('SVC_NETWORK') && (
        <p class="hint">
          It is set in the environment, as <code>SVC_NETWORK</code>.
        </p>
      )}
    </>
  )
}
