import { useEffect, useState } from 'preact/hooks'
import type { PayNetwork, PayOffer } from '../../src/transports/people/payment-page.ts'
import { authorize, dollars, paymentHeader, typedData } from './authorization.ts'
import { assertCanKeep, forget, type KeptPayment, keepFirst, markAnswered, readKept } from './kept-payment.ts'
import { Problem, wordsOf } from './problem.ts'
import { type Answer, readAnswer } from './read-answer.ts'
import type { Undelivered } from './refund-story.tsx'
import { sendPayment } from './send-payment.ts'
import type { Step } from './steps.tsx'
import { fetchTerms } from './terms.ts'
import { balanceOf, connect, signTypedData, switchTo } from './wallet-steps.ts'
import type { Wallet } from './wallets.ts'

export type Phase =
  | { at: 'offer'; problem?: string; boughtAt?: number }
  | { at: 'working'; step: Step; note?: string }
  | { at: 'answered'; answer: Answer; txHash: string; network: string }
  | { at: 'undelivered'; undelivered: Undelivered; txHash: string; network: string }
  /** A payment is signed and was not taken; it stays the only one until it has expired. */
  | { at: 'unpaid'; reason: string; isRefused: boolean; untilMs: number }

export interface PaymentFlow {
  phase: Phase
  pay(wallet: Wallet, network: PayNetwork): void
  /** Sends the payment that is kept. */
  again(): void
  /** Forgets the payment, so that another one can be signed. */
  startOver(): void
}

/** What is bought at this address, whatever part of the page is looked at. */
const URL_HERE = location.href.split('#')[0]!

export function usePayment({ terms: shown }: PayOffer): PaymentFlow {
  const [phase, setPhase] = useState<Phase>(() => firstPhase(readKept(URL_HERE)))

  useEffect(() => {
    const kept = readKept(URL_HERE)
    if (kept && !kept.answered) void settle(kept)
  }, [])

  async function settle(kept: KeptPayment): Promise<void> {
    setPhase({ at: 'working', step: 'settle' })
    const onPending = (note: string): void => setPhase({ at: 'working', step: 'settle', note })
    const sent = await sendPayment(URL_HERE, kept.header, onPending)
    const { network } = kept
    switch (sent.kind) {
      case 'answered': {
        const answer = await readAnswer(sent.response, sent.body, URL_HERE)
        // What a plan gave is shown once: whoever uses this browser later must not find it.
        if (answer.grant) forget(URL_HERE)
        else markAnswered(URL_HERE, kept)
        return setPhase({ at: 'answered', answer, txHash: sent.txHash, network })
      }
      case 'undelivered': {
        const { response } = sent
        const { headers, status } = response
        const body = await response.blob().catch(() => undefined)
        const answer = body && (await readAnswer(response, body, URL_HERE).catch(() => undefined))
        const undelivered: Undelivered = {
          status: answer?.status ?? status,
          when: headers.get('x-svc-refund-when'),
          statusUrl: headers.get('x-svc-status-url'),
        }
        return setPhase({ at: 'undelivered', undelivered, txHash: sent.txHash, network })
      }
      case 'refunded': {
        const { statusUrl } = sent
        return setPhase({ at: 'undelivered', undelivered: { when: null, statusUrl }, txHash: '', network })
      }
      case 'unpaid':
      case 'refused': {
        const { reason } = sent
        // It was answered before, so that nothing is owed: the answer can only not be had again.
        if (kept.answered) return setPhase({ at: 'offer', problem: reason })
        const isRefused = sent.kind === 'refused'
        return setPhase({ at: 'unpaid', reason, isRefused, untilMs: kept.untilMs })
      }
    }
  }

  async function sign({ provider }: Wallet, network: PayNetwork): Promise<KeptPayment> {
    assertCanKeep(URL_HERE)
    const account = await connect(provider)
    setPhase({ at: 'working', step: 'network' })
    await switchTo(provider, network)
    setPhase({ at: 'working', step: 'sign' })
    const { terms, nowSeconds } = await fetchTerms(URL_HERE)
    const accepted = terms.accepts.find((offered) => offered.network === network.id)
    const before = shown.accepts.find((offered) => offered.network === network.id)
    if (!accepted || accepted.amount !== before?.amount) {
      throw new Problem('The price has changed. Load the page again to see it. Nothing was charged.')
    }
    const balance = await balanceOf(provider, accepted.asset, account)
    if (balance !== undefined && balance < BigInt(accepted.amount)) {
      const [has, costs] = [balance, BigInt(accepted.amount)].map((units) => dollars(units, network.decimals))
      throw new Problem(
        `The wallet has ${has} ${network.symbol} on ${network.name}, and this costs ${costs}. Nothing was charged.`,
      )
    }
    const authorization = authorize(accepted, account, nowSeconds)
    const signature = await signTypedData(provider, account, typedData(accepted, network, authorization))
    return keepFirst(URL_HERE, {
      header: paymentHeader(terms, accepted, { signature, authorization }),
      network: network.id,
      untilMs: Date.now() + accepted.maxTimeoutSeconds * 1000,
      signedAt: Date.now(),
      answered: false,
    })
  }

  return {
    phase,
    pay(wallet, network) {
      // Another window may have signed meanwhile: that payment is the one.
      const kept = readKept(URL_HERE)
      if (kept && !kept.answered) return void settle(kept)
      setPhase({ at: 'working', step: 'connect' })
      sign(wallet, network).then(settle, (error: unknown) =>
        setPhase({ at: 'offer', problem: wordsOf(error) }),
      )
    },
    again() {
      const kept = readKept(URL_HERE)
      if (kept) void settle(kept)
    },
    startOver() {
      forget(URL_HERE)
      setPhase({ at: 'offer' })
    },
  }
}

function firstPhase(kept: KeptPayment | undefined): Phase {
  if (!kept) return { at: 'offer' }
  return kept.answered ? { at: 'offer', boughtAt: kept.signedAt } : { at: 'working', step: 'settle' }
}
