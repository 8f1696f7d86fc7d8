import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { CopyButton } from '../shared/copy-button.tsx'
import { formatCount, formatExactTime, formatUsd, shorten } from '../shared/format.ts'
import { Icon } from '../shared/icons.tsx'
import { Notice } from '../shared/notice.tsx'
import type { ChallengeDetail, SaleCredits } from '../shared/wire.ts'
import { ChallengeActions } from './challenge-actions.tsx'
import { CloseCredits } from './close-credits.tsx'
import { StateBadge } from './state-badge.tsx'
import { Timeline } from './timeline.tsx'
import { useData } from './use-data.ts'

/** One challenge and everything that happened to it, beside the list. */
export function ChallengeDrawer({
  id,
  tick,
  onClose,
  onChanged,
}: {
  id: string
  tick: number
  onClose: () => void
  onChanged: () => void
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const { data, fault } = useData<ChallengeDetail>(`/admin/api/challenges/${encodeURIComponent(id)}`, tick)
  // With a dialog the browser keeps the focus inside, and restores it afterwards.
  useEffect(() => dialog.current?.showModal(), [])
  const closeOnBackdrop = (event: MouseEvent): void => {
    if (event.target === dialog.current) dialog.current?.close()
  }
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog already.
    <dialog
      class="drawer"
      ref={dialog}
      aria-labelledby="drawer-title"
      onClose={onClose}
      onClick={closeOnBackdrop}
    >
      <div class="drawer-body">
        <div class="drawer-head">
          <h2 id="drawer-title">{data ? data.challenge.itemId : 'Sale'}</h2>
          <button
            type="button"
            class="button quiet icon-only"
            aria-label="Close"
            onClick={() => dialog.current?.close()}
          >
            <Icon name="close" />
          </button>
        </div>
        {fault !== '' && (
          <Notice level="error" title="This sale could not be read">
            <p>{fault}</p>
          </Notice>
        )}
        {data && <Details detail={data} onChanged={onChanged} />}
      </div>
    </dialog>
  )
}

function Details({ detail, onChanged }: { detail: ChallengeDetail; onChanged: () => void }): JSX.Element {
  const { challenge, explorer, timeline, credits } = detail
  return (
    <>
      <div class="drawer-sum">
        <span class="drawer-amount">{formatUsd(challenge.usd)}</span>
        <StateBadge state={challenge.state} />
      </div>
      {challenge.failure && (
        <Notice level="warn" title="The delivery failed">
          <p>{challenge.failure}</p>
        </Notice>
      )}
      <ChallengeActions challenge={challenge} refunds={detail.refunds} onChanged={onChanged} />
      {credits && <CloseCredits credits={credits} onChanged={onChanged} />}
      <dl class="facts">
        {challenge.maximumUsd && (
          <Fact name="Charged">{`${formatUsd(challenge.usd)} of at most ${formatUsd(challenge.maximumUsd)}`}</Fact>
        )}
        {credits && <Fact name="Credits">{creditWords(credits)}</Fact>}
        {credits?.expiresAt && <Fact name="Credits end">{formatExactTime(credits.expiresAt)}</Fact>}
        {challenge.resource && (
          <Fact name="Call">
            <code>
              {challenge.resource.method} {challenge.resource.path}
            </code>
          </Fact>
        )}
        {detail.networkName && <Fact name="Network">{detail.networkName}</Fact>}
        <Fact name="Payer">
          {challenge.payer ? <Copyable text={challenge.payer} label="payer" /> : 'Nobody yet'}
        </Fact>
        {challenge.txHash && (
          <Fact name="Payment">
            <HashLink hash={challenge.txHash} href={explorer.tx} />
          </Fact>
        )}
        {challenge.refundTxHash && (
          <Fact name="Refund">
            <HashLink hash={challenge.refundTxHash} href={explorer.refundTx} />
          </Fact>
        )}
        <Fact name="Created">{formatExactTime(challenge.createdAt)}</Fact>
        {challenge.paidAt ? (
          <Fact name="Paid">{formatExactTime(challenge.paidAt)}</Fact>
        ) : (
          <Fact name="Expires">{formatExactTime(challenge.expiresAt)}</Fact>
        )}
        <Fact name="Resource">
          <code>{challenge.resourceId}</code>
        </Fact>
        {challenge.clientAgentId && (
          <Fact name="Agent">
            <code>{challenge.clientAgentId}</code>
          </Fact>
        )}
        <Fact name="Transport">{challenge.transport.toUpperCase()}</Fact>
        <Fact name="Challenge">
          <Copyable text={challenge.challengeId} label="challenge id" />
        </Fact>
        <Fact name="Request">
          <Copyable text={challenge.requestId} label="request id" />
        </Fact>
      </dl>
      <h3>What happened</h3>
      <Timeline entries={timeline} />
    </>
  )
}

const ENDS: Record<SaleCredits['status'], string> = {
  running: '',
  expired: ', expired',
  closing: ', being closed',
  closed: ', closed',
  lost: ', payment lost',
}

function creditWords({ granted, spent, reserved, left, status }: SaleCredits): string {
  const held = reserved > 0 ? `, ${formatCount(reserved)} reserved` : ''
  return `${formatCount(left)} of ${formatCount(granted)} left, ${formatCount(spent)} spent${held}${ENDS[status]}`
}

function Fact({ name, children }: { name: string; children: JSX.Element | string }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

function Copyable({ text, label }: { text: string; label: string }): JSX.Element {
  return (
    <span class="copyable">
      <code title={text}>{shorten(text, 14, 8)}</code>
      <CopyButton text={text} label={label} />
    </span>
  )
}

function HashLink({ hash, href }: { hash: string; href: string | undefined }): JSX.Element {
  if (!href) return <Copyable text={hash} label="hash" />
  return (
    <a href={href} target="_blank" rel="noreferrer">
      <code title={hash}>{shorten(hash, 14, 8)}</code>
      <Icon name="external" />
      <span class="off-screen"> (block explorer, new tab)</span>
    </a>
  )
}
