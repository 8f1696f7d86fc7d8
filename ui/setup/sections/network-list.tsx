import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from '../../shared/icons.tsx'
import type { NetworkChoice } from '../../shared/wire.ts'
import { Field, More } from '../fields.tsx'
import { type Chosen, chosenNetworks } from '../networks.ts'
import { useSetupContext } from '../use-setup.ts'
import { NetworkItem } from './network-item.tsx'

/** The networks in the seller's order, each with its own settings. */
export function NetworkList(): JSX.Element {
  const setup = useSetupContext()
  const chosen = chosenNetworks(setup.form.values, setup.state.networks)
  const locked = setup.isLocked('SVC_NETWORK')
  const message = setup.messageOf('SVC_NETWORK')
  const save = (next: Chosen[]): void => setup.set('SVC_NETWORK', next.map(nameOf).join(','))
  const up = (index: number): void => {
    const next = [...chosen]
    next.splice(index - 1, 2, chosen[index]!, chosen[index - 1]!)
    save(next)
  }
  return (
    <fieldset class="list networks" id="field-svc-network" tabIndex={-1}>
      <legend>Networks</legend>
      <p class="hint">Buyers pay on any of them. The first is preferred, and takes every price.</p>
      <ol class="rows">
        {chosen.map((one, index) => (
          <NetworkItem
            key={one.named}
            chosen={one}
            isFirst={index === 0}
            locked={locked}
            onUp={() => up(index)}
            onRemove={() => save(chosen.filter((other) => other !== one))}
          />
        ))}
      </ol>
      {message && (
        <p class={`field-message ${message.level}`}>
          <Icon name={message.level} />
          <span>{message.message}</span>
        </p>
      )}
    </fieldset>
  )
}

/** Chooses a further network. Test and real money are never offered together, so only those of the same kind are listed. */
export function AddNetwork(): JSX.Element | null {
  const setup = useSetupContext()
  const [picked, setPicked] = useState('')
  const chosen = chosenNetworks(setup.form.values, setup.state.networks)
  const testnet = chosen[0]?.network?.testnet ?? true
  const free = setup.state.networks.filter(
    (network) => network.testnet === testnet && !chosen.some((one) => one.network?.id === network.id),
  )
  if (setup.isLocked('SVC_NETWORK') || free.length === 0) return null
  const next = free.find(({ word }) => word === picked) ?? free[0]!
  const add = (): void => {
    const names = [...chosen.map(nameOf), next.word]
    setup.set('SVC_NETWORK', names.join(','))
    setPicked('')
  }
  return (
    <div class="add-network">
      <label for="add-network">Another network</label>
      <div class="add-network-row">
        <select id="add-network" value={next.word} onChange={(event) => setPicked(event.currentTarget.value)}>
          {free.map((network: NetworkChoice) => (
            <option key={network.id} value={network.word}>
              {network.name}
            </option>
          ))}
        </select>
        <button type="button" class="button" onClick={add}>
          <Icon name="plus" />
          Add a network
        </button>
      </div>
    </div>
  )
}

/** Settings that matter with several networks only. */
export function NetworkRules(): JSX.Element {
  return (
    <More title="Small prices, other networks">
      <Field
        name="MAX_GAS_SHARE"
        label="Largest share of a price that gas may take"
        hint="An item is offered on a further network only while its gas costs less than this."
        placeholder="50%"
        optional
      />
      <Field
        name="NETWORKS"
        label="Networks that are not in the list"
        hint="A JSON list, see the configuration page of the documentation. They can be added once it is saved."
        lines={4}
        optional
      />
    </More>
  )
}

/** As it is saved: by its word, whatever it was called before. */
const nameOf = ({ named, network }: Chosen): string => network?.word ?? named
