import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { basePath, get } from '../shared/api.ts'
import type { ChallengeItem, ChallengePage } from '../shared/wire.ts'
import type { Sold } from './live-page.tsx'

const ASK_MS = 2_000

/** The page at which a person buys the first thing that is sold; undefined: it has none. */
export function buyPage({ url, plans, routes, hasPages }: Sold): string | undefined {
  if (!hasPages) return undefined
  const plan = plans.find(({ planId }) => planId !== '')
  if (plan) return `${url}/x402/plans/${encodeURIComponent(plan.planId)}`
  // A metered call is paid by programs alone.
  const route = routes.find(
    ({ free, path, method, schemas }) => !free && path !== '' && method === 'GET' && !schemas.scheme,
  )
  return route && `${url}${route.path.replaceAll(':', '')}`
}

/** Buys from the new gateway as a person would, with test money, and shows the sale when it is there. */
export function TestPurchase({ href, faucet }: { href: string; faucet: string | undefined }): JSX.Element {
  const [since, setSince] = useState<number>()
  const [sale, setSale] = useState<ChallengeItem>()
  useEffect(() => {
    if (since === undefined || sale) return
    const timer = setInterval(() => {
      get<ChallengePage>('/admin/api/challenges?limit=1').then(
        ({ items: [newest] }) => {
          if (newest?.paidAt && Date.parse(newest.paidAt) >= since) setSale(newest)
        },
        // It is asked again in a moment.
        () => undefined,
      )
    }, ASK_MS)
    return () => clearInterval(timer)
  }, [since, sale])
  return (
    <>
      <p class="hint">
        It opens the page that people pay at. You need a wallet in this browser, with test money
        {faucet && (
          <>
            {' from the '}
            <a href={faucet} rel="noreferrer noopener" target="_blank">
              faucet
            </a>
          </>
        )}
        ; no gas.
      </p>
      <div class="buttons">
        <a
          class="button primary"
          href={href}
          target="_blank"
          rel="noopener noreferrer"
          onClick={() => setSince(Date.now() - ASK_MS)}
        >
          Make a test purchase
        </a>
      </div>
      <p class="test-sale" role="status">
        {sale ? (
          <>
            Sold: <strong>{sale.itemId}</strong> for {sale.usd},{' '}
            <a href={`${basePath}/admin#challenge/${encodeURIComponent(sale.challengeId)}`}>see the sale</a>.
          </>
        ) : (
          since !== undefined && 'Waiting for the sale…'
        )}
      </p>
    </>
  )
}
