import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { PayNetwork } from '../../src/transports/people/payment-page.ts'
import { useWallets, type Wallet } from './wallets.ts'

/** The choice of wallet and network, and the button that pays. */
export function OfferView(props: {
  networks: readonly PayNetwork[]
  problem: string | undefined
  /** Milliseconds since the epoch: this browser has bought it before. */
  boughtAt: number | undefined
  onPay(wallet: Wallet, network: PayNetwork): void
  onShowAgain(): void
}): JSX.Element {
  const { networks, problem, boughtAt, onPay, onShowAgain } = props
  const wallets = useWallets()
  const [walletId, chooseWallet] = useState<string>()
  const [networkId, chooseNetwork] = useState(networks[0]?.id)
  const wallet = wallets.find(({ id }) => id === walletId) ?? wallets[0]
  const network = networks.find(({ id }) => id === networkId)
  return (
    <>
      {problem !== undefined && (
        <div class="note bad" role="alert">
          <p>{problem}</p>
        </div>
      )}
      {boughtAt !== undefined && (
        <div class="note good">
          <p>
            You bought this on{' '}
            {new Date(boughtAt).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })}.
          </p>
          <p class="row">
            <button type="button" class="main" onClick={onShowAgain}>
              Show the answer again
            </button>
          </p>
        </div>
      )}
      {networks.length > 1 && (
        <Choices
          legend="Network"
          options={networks.map(({ id, name }) => ({ id, name }))}
          chosen={networkId}
          onChoose={chooseNetwork}
        />
      )}
      {wallets.length > 1 && (
        <Choices legend="Wallet" options={wallets} chosen={wallet?.id} onChoose={chooseWallet} />
      )}
      {wallet && network ? (
        <p class="row">
          <button
            type="button"
            class={boughtAt === undefined ? 'main' : ''}
            onClick={() => onPay(wallet, network)}
          >
            {boughtAt === undefined ? `Pay with ${wallet.name}` : `Buy again with ${wallet.name}`}
          </button>
        </p>
      ) : (
        <div class="note wait">
          <p>
            No wallet was found in this browser. Install one, or open this page in the browser of your wallet.
          </p>
          <p class="soft small">Programs and agents pay at the same address without this page.</p>
        </div>
      )}
      {network?.faucet && (
        <p class="soft small">
          {network.name} takes test money, which is free at the{' '}
          <a href={network.faucet} rel="noreferrer noopener" target="_blank">
            faucet
          </a>
          .
        </p>
      )}
    </>
  )
}

function Choices(props: {
  legend: string
  options: ReadonlyArray<{ id: string; name: string; icon?: string }>
  chosen: string | undefined
  onChoose(id: string): void
}): JSX.Element {
  const { legend, options, chosen, onChoose } = props
  return (
    <fieldset>
      <legend>{legend}</legend>
      <div class="choices">
        {options.map(({ id, name, icon }) => (
          <label key={id} class="choice">
            <input type="radio" name={legend} checked={id === chosen} onChange={() => onChoose(id)} />
            {icon && <img src={icon} alt="" />}
            {name}
          </label>
        ))}
      </div>
    </fieldset>
  )
}
