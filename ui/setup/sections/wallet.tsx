import type { JSX } from 'preact'
import { Field, More } from '../fields.tsx'
import { chosenNetworks } from '../networks.ts'
import { useSetupContext } from '../use-setup.ts'
import { FirstNetworks, firstChoice } from './first-networks.tsx'
import { AddNetwork, NetworkRules } from './network-list.tsx'
import { Section } from './section.tsx'

export function WalletSection(): JSX.Element {
  const setup = useSetupContext()
  const { networks } = setup.state
  const chosen = chosenNetworks(setup.form.values, networks)
  const card = firstChoice(setup)
  // What is for one network only is refused with several: it is shown as long as it is there to be removed.
  const isThere = (name: string): boolean =>
    setup.state.secrets[name]?.set === true || Boolean(setup.form.secrets[name] || setup.form.values[name])
  const shows = (name: string): boolean => chosen.length === 1 || isThere(name)
  return (
    <Section
      id="wallet"
      intro="Where the money goes. The server never needs the key of this wallet to receive."
    >
      <FirstNetworks />
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
