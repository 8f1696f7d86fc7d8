import type { JSX } from 'preact'
import { RadioCards } from '../choice.tsx'
import { Field, More } from '../fields.tsx'
import { chosenNetworks } from '../networks.ts'
import { useSetupContext } from '../use-setup.ts'
import { AddNetwork, NetworkList, NetworkRules } from './network-list.tsx'
import { Section } from './section.tsx'

/** Most sellers begin with one of these. */
const FIRST_CHOICES = [
  { value: 'testnet', text: 'Free test money. Start here.' },
  { value: 'mainnet', text: 'Real USDC.' },
] as const

export function WalletSection(): JSX.Element {
  const setup = useSetupContext()
  const { networks } = setup.state
  const chosen = chosenNetworks(setup.form.values, networks)
  const only = chosen.length === 1 ? chosen[0]?.network : undefined
  const card = FIRST_CHOICES.find(({ value }) => only?.aliases.includes(value))?.value
  const sides = FIRST_CHOICES.map(({ value, text }) => ({
    value,
    title: networks.find(({ aliases }) => aliases.includes(value))?.name ?? value,
    text,
  }))
  // What is for one network only is refused with several: it is shown as long as it is there to be removed.
  const isThere = (name: string): boolean =>
    setup.state.secrets[name]?.set === true || Boolean(setup.form.secrets[name] || setup.form.values[name])
  const shows = (name: string): boolean => chosen.length === 1 || isThere(name)
  return (
    <Section
      id="wallet"
      intro="Where the money goes. The server never needs the key of this wallet to receive."
    >
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
      <AddNetwork />
      {!card && <NetworkRules />}
      <Field
        name="SVC_WALLET_ADDRESS"
        label="Wallet address"
        hint="Receives the USDC. Use an address of your own, not a deposit address of an exchange."
        placeholder="0x…"
        mono
      />
      <More title="Chain access">
        {shows('RPC_URL') && (
          <Field
            name="RPC_URL"
            label="RPC endpoint"
            hint="Decides what was paid. The public one is fine for a start; use your own in production."
            placeholder="https://…"
            inputMode="url"
            optional
          />
        )}
        {shows('EXPLORER_TX_URL') && (
          <Field
            name="EXPLORER_TX_URL"
            label="Block explorer"
            hint="The transaction’s hash is appended."
            placeholder="https://basescan.org/tx/"
            inputMode="url"
            optional
          />
        )}
        <Field
          name="CONFIRMATIONS"
          label="Confirmations"
          hint="Blocks until a payment counts."
          placeholder="1"
          inputMode="numeric"
          unit="blocks"
          optional
        />
      </More>
    </Section>
  )
}
