import type { JSX } from 'preact'
import { RadioCards } from '../choice.tsx'
import { Field, More } from '../fields.tsx'
import { useSetupContext } from '../use-setup.ts'
import { Section } from './section.tsx'

const NETWORK_TEXTS: Record<string, string> = {
  testnet: 'Free test money. Start here.',
  mainnet: 'Real USDC.',
}

export function WalletSection(): JSX.Element {
  const setup = useSetupContext()
  const { networks } = setup.state
  const given = setup.form.values.SVC_NETWORK || 'testnet'
  const chosen = networks.find((network) => network.word === given || network.id === given)
  const sides = [...networks]
    .sort((a) => (a.word === 'testnet' ? -1 : 1))
    .map(({ word, name }) => ({ value: word, title: name, text: NETWORK_TEXTS[word] ?? '' }))
  return (
    <Section
      id="wallet"
      intro="Where the money goes. The server never needs the key of this wallet to receive."
    >
      <RadioCards
        legend="Network"
        name="network"
        sides={sides}
        value={chosen?.word ?? ''}
        disabled={setup.isLocked('SVC_NETWORK')}
        onChange={(word) => setup.set('SVC_NETWORK', word === 'testnet' ? '' : word)}
      />
      {setup.isLocked('SVC_NETWORK') && (
        <p class="hint">
          It is set in the environment, as <code>SVC_NETWORK</code>.
        </p>
      )}
      <Field
        name="SVC_WALLET_ADDRESS"
        label="Wallet address"
        hint="Receives the USDC. Use an address of your own, not a deposit address of an exchange."
        placeholder="0x…"
        mono
      />
      <More title="Chain access">
        <Field
          name="RPC_URL"
          label="RPC endpoint"
          hint="Decides what was paid. The public one is fine for a start; use your own in production."
          placeholder="https://…"
          inputMode="url"
          optional
        />
        <Field
          name="EXPLORER_TX_URL"
          label="Block explorer"
          hint="The transaction’s hash is appended."
          placeholder="https://basescan.org/tx/"
          inputMode="url"
          optional
        />
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
