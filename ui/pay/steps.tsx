import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'

export const STEPS = ['connect', 'network', 'sign', 'settle'] as const
export type Step = (typeof STEPS)[number]

const WORDS: Record<Step, string> = {
  connect: 'Connect the wallet',
  network: 'Choose the network in the wallet',
  sign: 'Sign the payment in the wallet',
  settle: 'The payment settles on the chain',
}

/** How far a payment has come. */
export function Steps({ now, note }: { now: Step; note: string | undefined }): JSX.Element {
  const at = STEPS.indexOf(now)
  const seconds = useSeconds(now)
  return (
    <>
      <ol class="steps">
        {STEPS.map((step, index) => (
          <li key={step} class={index < at ? 'done' : index === at ? 'now' : ''}>
            <span class="mark" aria-hidden="true">
              {index < at ? '✓' : index === at ? '›' : '·'}
            </span>
            <span>
              {WORDS[step]}
              {/* Not for screen readers: they would read every second. */}
              {index === at && now === 'settle' && seconds > 2 && (
                <span aria-hidden="true"> ({seconds} s)</span>
              )}
            </span>
          </li>
        ))}
      </ol>
      {now === 'settle' && (
        <p class="soft small">
          {note ?? 'This usually takes a few seconds.'} The payment is kept: you may reload this page, and you
          will not be asked to sign again.
        </p>
      )}
    </>
  )
}

function useSeconds(since: Step): number {
  const [seconds, setSeconds] = useState(0)
  useEffect(() => {
    setSeconds(0)
    const startedAt = Date.now()
    const timer = setInterval(() => setSeconds(Math.round((Date.now() - startedAt) / 1000)), 1000)
    return () => clearInterval(timer)
  }, [since])
  return seconds
}
