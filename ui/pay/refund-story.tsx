import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { ChallengeStatus } from '../../src/protocol/access.ts'

const POLL_MS = 2_000

export interface Undelivered {
  /** Of the backend's answer; absent: the payment is on its way back already. */
  status?: number
  /** ISO 8601. */
  when: string | null
  statusUrl: string | null
}

/** What becomes of a payment whose call failed, until it has ended. */
export function RefundStory({
  undelivered: { status, when, statusUrl },
  explorerTxUrl,
  onAgain,
  onOver,
}: {
  undelivered: Undelivered
  explorerTxUrl: string
  /** Sends the same payment again. */
  onAgain(): void
  /** The payment went back, and something else may be bought. */
  onOver(): void
}): JSX.Element {
  const found = useStatus(statusUrl)
  const state = found?.state ?? (status === undefined ? 'REFUND_PENDING' : 'PAID')
  if (state === 'REFUNDED') {
    return (
      <div class="note good">
        <p class="state good">Your money is back.</p>
        <p>
          The call failed and the payment was refunded
          {found?.refundTxHash && <TransactionLink base={explorerTxUrl} hash={found.refundTxHash} />}.
        </p>
        <p class="row">
          <button type="button" onClick={onOver}>
            Buy again
          </button>
        </p>
      </div>
    )
  }
  if (state === 'REFUND_PENDING') {
    return (
      <div class="note wait">
        <p class="state wait">The payment is on its way back.</p>
        <p>
          The call failed. The refund is sent as soon as the payment is final on the chain; this page follows
          it.
        </p>
      </div>
    )
  }
  if (state === 'REFUND_FAILED') {
    return (
      <div class="note bad">
        <p class="state bad">The refund could not be sent.</p>
        <p>The seller has been asked to send it by hand. Keep the receipt.</p>
      </div>
    )
  }
  return (
    <div class="note wait">
      <p class="state wait">Paid, but not delivered.</p>
      <p>
        The seller’s server failed (status {status}). Try again: the same payment is used, and nothing more is
        charged.
        {when && ` Otherwise your money goes back after ${clock(when)}.`}
      </p>
      <p class="row">
        <button type="button" class="main" onClick={onAgain}>
          Try again without paying
        </button>
      </p>
    </div>
  )
}

export function TransactionLink({ base, hash }: { base: string; hash: string }): JSX.Element {
  return (
    <>
      {' '}
      (
      <a href={base + hash} rel="noreferrer noopener" target="_blank">
        transaction
      </a>
      )
    </>
  )
}

export const clock = (iso: string): string =>
  new Date(iso).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })

/** How the purchase stands, asked until nothing changes any more. */
function useStatus(statusUrl: string | null): ChallengeStatus | undefined {
  const [found, setFound] = useState<ChallengeStatus>()
  useEffect(() => {
    if (statusUrl === null) return
    // The seller may name another host than the one by which this page was opened.
    const { pathname } = new URL(statusUrl, location.href)
    let timer: ReturnType<typeof setTimeout>
    const look = async (): Promise<void> => {
      const response = await fetch(pathname, { cache: 'no-store' }).catch(() => undefined)
      const status = response?.ok ? ((await response.json()) as ChallengeStatus) : undefined
      if (status) setFound(status)
      if (status?.state !== 'REFUNDED' && status?.state !== 'DELIVERED')
        timer = setTimeout(() => void look(), POLL_MS)
    }
    void look()
    return () => clearTimeout(timer)
  }, [statusUrl])
  return found
}
