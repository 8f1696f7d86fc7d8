import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { PayNetwork, PayOffer } from '../../src/transports/people/payment-page.ts'
import { AnswerView } from './answer-view.tsx'
import { GrantView } from './grant-view.tsx'
import { OfferView } from './offer-view.tsx'
import { RefundStory, TransactionLink } from './refund-story.tsx'
import { Steps } from './steps.tsx'
import { usePayment } from './use-payment.ts'

/** Everything below the price: wallets, steps, and the answer or what became of the payment. */
export function PayApp({ offer }: { offer: PayOffer }): JSX.Element {
  const { phase, pay, again, startOver } = usePayment(offer)
  const explorerOf = (id: string): string =>
    offer.networks.find((network) => network.id === id)?.explorerTxUrl ?? ''
  const networks = offer.terms.accepts.flatMap(({ network }): PayNetwork[] =>
    offer.networks.filter(({ id }) => id === network),
  )
  return (
    <div aria-live="polite">
      {phase.at === 'offer' && (
        <OfferView
          networks={networks}
          problem={phase.problem}
          boughtAt={phase.boughtAt}
          onPay={pay}
          onShowAgain={again}
        />
      )}
      {phase.at === 'working' && <Steps now={phase.step} note={phase.note} />}
      {phase.at === 'answered' && (
        <>
          <div class="note good">
            <p class="state good">
              Paid
              {phase.txHash !== '' && (
                <TransactionLink base={explorerOf(phase.network)} hash={phase.txHash} />
              )}
              {phase.answer.receiptUrl && (
                <>
                  {' · '}
                  <a href={phase.answer.receiptUrl}>receipt</a>
                </>
              )}
            </p>
          </div>
          {phase.answer.grant ? (
            <GrantView grant={phase.answer.grant} />
          ) : (
            <AnswerView answer={phase.answer} />
          )}
          <p class="row">
            <button type="button" onClick={startOver}>
              Buy again
            </button>
          </p>
        </>
      )}
      {phase.at === 'undelivered' && (
        <RefundStory
          undelivered={phase.undelivered}
          explorerTxUrl={explorerOf(phase.network)}
          onAgain={again}
          onOver={startOver}
        />
      )}
      {phase.at === 'unpaid' && <Unpaid {...phase} onAgain={again} onOver={startOver} />}
    </div>
  )
}

/** The payment was not taken, but until it has expired it could be: signing another one could pay twice. */
function Unpaid(props: {
  reason: string
  /** The seller does not say that it took nothing. */
  isRefused: boolean
  untilMs: number
  onAgain(): void
  onOver(): void
}): JSX.Element {
  const { reason, isRefused, untilMs, onAgain, onOver } = props
  const [isOver, setOver] = useState(untilMs < Date.now())
  useEffect(() => {
    if (isOver) return
    const timer = setTimeout(() => setOver(true), untilMs - Date.now())
    return () => clearTimeout(timer)
  }, [isOver, untilMs])
  const until = new Date(untilMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' })
  return (
    <div class="note bad">
      <p class="state bad">{isRefused ? 'The seller refused the request.' : 'The payment was not taken.'}</p>
      <p>{reason}</p>
      {!isOver && (
        <p>
          Your signature stays valid until {until}. Until then only this same payment is sent again, so that
          you cannot pay twice.
        </p>
      )}
      {isOver && isRefused && (
        <p>
          Your signature has expired, and the seller does not say what became of the payment. It may have been
          taken: send it again to find out. If you start over, you could pay twice.
        </p>
      )}
      <p class="row">
        {(!isOver || isRefused) && (
          <button type="button" class="main" onClick={onAgain}>
            Send the same payment again
          </button>
        )}
        {isOver && (
          <button type="button" class={isRefused ? '' : 'main'} onClick={onOver}>
            Start over
          </button>
        )}
      </p>
    </div>
  )
}
