import type { JSX } from 'preact'
import { formatCoin, formatMicro, shorten } from '../shared/format.ts'
import { Icon } from '../shared/icons.tsx'
import type { NetworkView, Overview, WalletView } from '../shared/wire.ts'
import { NetworkState } from './networks.tsx'

const ROLES: Record<WalletView['role'], string> = {
  receives: 'Receives payments',
  gas: 'Pays for gas',
  refund: 'Signs refunds',
}

export function Wallets({ overview }: { overview: Overview | undefined }): JSX.Element {
  const wallets = overview?.wallets ?? []
  const networks = overview?.networks?.filter(({ configured }) => configured)
  return (
    <section class="card" aria-labelledby="wallets-title">
      <div class="card-head">
        <h2 id="wallets-title">Wallets</h2>
      </div>
      {networks ? (
        networks.map((network) => (
          <WalletsOn
            key={network.network}
            network={network}
            wallets={wallets.filter((wallet) => wallet.network === network.network)}
          />
        ))
      ) : (
        <>
          {overview && wallets.length === 0 && <p class="empty">No wallet could be read yet.</p>}
          <WalletList wallets={wallets} />
        </>
      )}
    </section>
  )
}

function WalletsOn({ network, wallets }: { network: NetworkView; wallets: WalletView[] }): JSX.Element {
  return (
    <div class="wallet-group">
      <h3>
        {network.name} <NetworkState network={network} />
      </h3>
      {wallets.length === 0 && <p class="muted">No wallet could be read yet.</p>}
      <WalletList wallets={wallets} />
    </div>
  )
}

function WalletList({ wallets }: { wallets: WalletView[] }): JSX.Element {
  return (
    <ul class="wallets">
      {wallets.map((wallet) => (
        <li key={wallet.network + wallet.role + wallet.address} class={wallet.level}>
          <div class="wallet-head">
            <span class="wallet-role">{ROLES[wallet.role]}</span>
            <WalletAddress wallet={wallet} />
          </div>
          <div class="wallet-money">
            {wallet.usdcMicro !== undefined && (
              <span>
                {formatMicro(wallet.usdcMicro).slice(1)} {wallet.symbol}
              </span>
            )}
            {wallet.ethWei !== undefined && <span>{formatCoin(wallet.ethWei, wallet.symbol)}</span>}
            {typeof wallet.daysLeft === 'number' && <span class="days">{daysWord(wallet.daysLeft)}</span>}
          </div>
          {wallet.message && (
            <p class={`field-message ${wallet.level}`}>
              <Icon name={wallet.level} />
              <span>
                {wallet.message}
                {wallet.faucetUrl && <Faucet url={wallet.faucetUrl} symbol={wallet.symbol} />}
              </span>
            </p>
          )}
        </li>
      ))}
    </ul>
  )
}

function Faucet({ url, symbol }: { url: string; symbol: string }): JSX.Element {
  return (
    <>
      {'. '}
      <a href={url} target="_blank" rel="noreferrer">
        Get test {symbol}
        <Icon name="external" />
        <span class="off-screen"> (faucet, new tab)</span>
      </a>
    </>
  )
}

function WalletAddress({ wallet: { address, explorerUrl } }: { wallet: WalletView }): JSX.Element {
  const short = <code title={address}>{shorten(address)}</code>
  if (explorerUrl === null) return short
  return (
    <a href={explorerUrl} target="_blank" rel="noreferrer">
      {short}
      <Icon name="external" />
      <span class="off-screen"> (block explorer, new tab)</span>
    </a>
  )
}

function daysWord(days: number): string {
  if (days >= 365) return 'lasts more than a year'
  if (days < 1) return 'lasts less than a day'
  const whole = Math.floor(days)
  return `lasts about ${whole} ${whole === 1 ? 'day' : 'days'}`
}
