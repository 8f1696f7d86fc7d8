import type { JSX } from 'preact'
import type { FieldCheck } from '../../shared/wire.ts'
import { Choice } from '../choice.tsx'
import { FieldMessage, fieldId } from '../field-shell.tsx'
import { Field, Flag, More } from '../fields.tsx'
import { chosenNetworks } from '../networks.ts'
import { useSetupContext } from '../use-setup.ts'
import { Section } from './section.tsx'

const GAS_KEY = 'GAS_WALLET_PRIVATE_KEY'

/** The field that the message belongs to is not shown, so the message names it. */
const namedMessage = (message: FieldCheck | undefined): FieldCheck | undefined =>
  message?.level === 'error'
    ? {
        ...message,
        message: `The key of a gas wallet ${message.message.charAt(0).toLowerCase()}${message.message.slice(1)}`,
      }
    : undefined

const sidesOf = (coins: string) =>
  [
    { value: 'facilitator', title: 'Facilitator', text: 'A service settles for you and pays the gas.' },
    {
      value: 'gas',
      title: 'My own gas wallet',
      text: `This server settles and pays ${coins} for gas. It never holds USDC.`,
    },
  ] as const

export function SettlementSection(): JSX.Element {
  const { form, state, messageOf } = useSetupContext()
  const chosen = chosenNetworks(form.values, state.networks)
  const mainnet = chosen.some(({ network }) => network?.word === 'base')
  const coins = [...new Set(chosen.flatMap(({ network }) => network?.coin ?? []))].join(' and ') || 'ETH'
  return (
    <Section id="settlement" intro="Who puts the buyers’ payments on the chain.">
      <Choice group="settlement" legend="Settled by" sides={sidesOf(coins)} />
      {form.choices.settlement === 'facilitator' ? (
        <>
          {/* What is sold may need a gas wallet: then it is said here, where one can be chosen. */}
          <FieldMessage id={fieldId(GAS_KEY)} message={namedMessage(messageOf(GAS_KEY))} />
          <Field
            name="FACILITATOR_URL"
            label="Facilitator"
            hint="Empty: the network’s usual one."
            placeholder={
              mainnet ? 'https://api.cdp.coinbase.com/platform/v2/x402' : 'https://x402.org/facilitator'
            }
            inputMode="url"
            optional
          />
          {mainnet && (
            <>
              <Field name="CDP_API_KEY_ID" label="Coinbase API key id" optional mono />
              <Field
                name="CDP_API_KEY_SECRET"
                label="Coinbase API key secret"
                hint="Needed by Coinbase’s facilitator, which is the usual one on mainnet."
                optional
              />
            </>
          )}
        </>
      ) : (
        <>
          <Field
            name={GAS_KEY}
            label="Private key of the gas wallet"
            hint={`A wallet of its own with a little ${coins}. Several keys, separated by commas, share the work.`}
            placeholder="0x…"
          />
          <Flag
            name="SETTLER_CONTRACT"
            byDefault={false}
            label="Batches by the settler contract"
            hint={
              <>
                Less gas under load. Deploy it first: <code>paystile deploy-settler</code>
              </>
            }
          />
        </>
      )}
      <More title="Timing">
        <Field name="CHALLENGE_TTL_SECONDS" label="An offer is good for" placeholder="15 minutes" optional />
        <Field
          name="ALLOWED_WALLET_FACTORIES"
          label="Factories of smart wallets that may pay before they are deployed"
          hint="Addresses, separated by commas (EIP-6492). The facilitator deploys such a wallet; your own gas wallet never does."
          placeholder="0x…"
          optional
        />
        <Field
          name="SETTLE_WAIT_SECONDS"
          label="A paying request waits for the chain"
          placeholder="30 seconds"
          optional
        />
        <Field
          name="POLL_INTERVAL_MS"
          label="The chain is asked every"
          placeholder="1000"
          inputMode="numeric"
          unit="ms"
          optional
        />
      </More>
    </Section>
  )
}

export function RefundsSection(): JSX.Element {
  return (
    <Section
      id="refunds"
      intro="If something was paid and could not be delivered, the money goes back automatically. Without a key, refunds wait for you."
    >
      <Field
        name="REFUND_WALLET_PRIVATE_KEY"
        label="Private key that signs refunds"
        hint="Normally the key of the wallet that receives. It only signs; the gas wallet or the facilitator sends."
        placeholder="0x…"
        optional
      />
      <More title="Timing">
        <Field
          name="REFUND_MIN_AGE_SECONDS"
          label="A failed call is refunded after"
          placeholder="5 minutes"
          optional
        />
        <Field
          name="REFUND_INTERVAL_SECONDS"
          label="Look for refunds every"
          placeholder="1 minute"
          optional
        />
      </More>
    </Section>
  )
}
