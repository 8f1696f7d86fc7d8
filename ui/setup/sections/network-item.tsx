import type { JSX } from 'preact'
import { Icon } from '../../shared/icons.tsx'
import type { Level, NetworkChoice } from '../../shared/wire.ts'
import { Field, More } from '../fields.tsx'
import { type Chosen, ofOneNetwork } from '../networks.ts'
import { type Setup, useSetupContext } from '../use-setup.ts'

/** One of several networks: its place in the order, the result of its checks, and what differs there. */
export function NetworkItem({
  chosen: { named, network },
  isFirst,
  locked,
  onUp,
  onRemove,
}: {
  chosen: Chosen
  isFirst: boolean
  locked: boolean
  onUp: () => void
  onRemove: () => void
}): JSX.Element {
  const setup = useSetupContext()
  const name = network?.name ?? named
  const level = network && levelOf(network, setup)
  return (
    <li class="network-item">
      <div class="network-head">
        <h3>
          {name}
          {isFirst && <span class="preferred">preferred</span>}
        </h3>
        <div class="network-buttons">
          {!isFirst && !locked && (
            <button
              type="button"
              class="button small"
              onClick={onUp}
              aria-label={`Prefer ${name}: move it up`}
            >
              Up
            </button>
          )}
          {!locked && (
            <button
              type="button"
              class="button quiet icon-only"
              onClick={onRemove}
              aria-label={`Remove ${name}`}
            >
              <Icon name="trash" />
            </button>
          )}
        </div>
      </div>
      {level && (
        <p class={`field-message ${level}`}>
          <Icon name={level} />
          <span>{LEVEL_WORDS[level]}</span>
        </p>
      )}
      {network && <TooSmallNote network={network} />}
      {network && <NetworkFields network={network} />}
    </li>
  )
}

const LEVEL_WORDS: Record<Level, string> = {
  ok: 'It answers.',
  warn: 'It answers, with a warning below.',
  error: 'Something is wrong, see below.',
}

function NetworkFields({ network }: { network: NetworkChoice }): JSX.Element {
  const { name, chainId, coin, facilitator } = network
  const settings = useSetupContext()
  const open = Object.keys(settings.answer?.fields ?? {}).some(
    (field) => ofOneNetwork(field)?.chainId === chainId && settings.answer?.fields[field]?.level === 'error',
  )
  return (
    <details class="more" open={open}>
      <summary>
        Settings<span class="off-screen"> of {name}</span>
      </summary>
      <div class="more-body">
        <Field
          name={`RPC_URL_${chainId}`}
          label={`RPC endpoint of ${name}`}
          hint="Decides what was paid. Several, separated by commas, are tried in order. Empty: a public one."
          placeholder="https://…"
          inputMode="url"
          optional
        />
        <Field
          name={`SVC_WALLET_ADDRESS_${chainId}`}
          label={`Wallet address on ${name}`}
          hint="Empty: the address below, which is for all networks."
          placeholder="0x…"
          mono
          optional
        />
        <Field
          name={`GAS_WALLET_PRIVATE_KEY_${chainId}`}
          label={`Private key of the gas wallet on ${name}`}
          hint={`It needs a little ${coin}. Empty: as under “Settlement”.`}
          placeholder="0x…"
          optional
        />
        <Field
          name={`FACILITATOR_URL_${chainId}`}
          label={`Facilitator on ${name}`}
          hint={
            facilitator
              ? 'Empty: as under “Settlement”.'
              : 'None is known for this network: without one, a gas wallet is needed.'
          }
          placeholder="https://…"
          inputMode="url"
          optional
        />
        <More title={`More of ${name}`}>
          <Field
            name={`REFUND_WALLET_PRIVATE_KEY_${chainId}`}
            label={`Private key that signs refunds on ${name}`}
            hint="Empty: as under “Refunds”."
            placeholder="0x…"
            optional
          />
          <Field
            name={`EXPLORER_TX_URL_${chainId}`}
            label={`Block explorer of ${name}`}
            hint="The transaction’s hash is appended."
            placeholder="https://…"
            inputMode="url"
            optional
          />
          <Field
            name={`CONFIRMATIONS_${chainId}`}
            label={`Confirmations on ${name}`}
            placeholder="1"
            inputMode="numeric"
            unit="blocks"
            optional
          />
          <Field
            name={`NATIVE_USD_${chainId}`}
            label={`Price of one ${coin} in dollars`}
            hint="A rough one is enough: it decides which prices carry the gas."
            optional
          />
        </More>
      </div>
    </details>
  )
}

function TooSmallNote({ network }: { network: NetworkChoice }): JSX.Element | null {
  const { answer } = useSetupContext()
  const found = answer?.tooSmall.find(({ chainId }) => chainId === network.chainId)
  if (!found) return null
  const items = [...found.planIds, ...found.routeIds].join(', ')
  const least = found.leastAmount === null ? '' : ` Prices from ${found.leastAmount} are offered.`
  return (
    <p class="field-message warn">
      <Icon name="warn" />
      <span>
        Not offered here now, because gas takes too much of the price: {items}.{least}
      </span>
    </p>
  )
}

/** The worst that was found about the settings of this network; undefined while nothing is known. */
function levelOf({ chainId }: NetworkChoice, { answer }: Setup): Level | undefined {
  if (!answer) return undefined
  const isOwn = (name: string | null): boolean => ofOneNetwork(name ?? '')?.chainId === chainId
  if (answer.faults.some(({ name }) => isOwn(name))) return 'error'
  const levels = Object.entries(answer.fields).flatMap(([name, { level }]) => (isOwn(name) ? [level] : []))
  return (['error', 'warn', 'ok'] as const).find((level) => levels.includes(level))
}
