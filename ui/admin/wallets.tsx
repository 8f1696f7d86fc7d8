import type { JSX } from 'preact'
import { formatEth, formatMicro, shorten } from '../shared/format.ts'
import { Icon } from '../shared/icons.tsx'
import type { Overview, WalletView } from '../shared/wire.ts'

const ROLES: Record<WalletView['role'], string> = {
  receives: 'Receives payments',
  gas: 'Pays for gas',
  refund: 'Signs refunds',
}

export function Wallets({ overview }: { overview: Overview | undefined }): JSX.Element {
  return (
    <section class="card" aria-labelledby="wallets-title">
      <div class="card-head">
        <h2 id="wallets-title">Wallets</h2>
      </div>
      {overview?.wallets.length === 0 && <p class="empty">No wallet could be read yet.</p>}
      <ul class="wallets">
        {overview?.wallets.map((wallet) => (
          <li key={wallet.role + wallet.address} class={wallet.level}>
            <div class="wallet-head">
              <span class="wallet-role">{ROLES[wallet.role]}</span>
              <WalletAddress wallet={wallet} />
            </div>
            <div class="wallet-money">
              {wallet.usdcMicro !== undefined && <span>{formatMicro(wallet.usdcMicro).slice(1)} USDC</span>}
              {wallet.ethWei !== undefined && <span>{formatEth(wallet.ethWei)}</span>}
              {typeof wallet.daysLeft === 'number' && <span class="days">{daysWord(wallet.daysLeft)}</span>}
            </div>
            {wallet.message && (
              <p class={`field-message ${wallet.level}`}>
                <Icon name={wallet.level} />
                <span>{wallet.message}</span>
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
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
