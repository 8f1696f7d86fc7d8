import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { basePath } from '../shared/api.ts'
import { CopyButton } from '../shared/copy-button.tsx'
import { Icon } from '../shared/icons.tsx'
import { Notice } from '../shared/notice.tsx'
import type { PlanRow, RouteRow } from './form-state.ts'
import { buyPage, TestPurchase } from './test-purchase.tsx'

export interface Sold {
  url: string
  plans: PlanRow[]
  routes: RouteRow[]
  /** Only test money is taken. */
  testnet: boolean
  /** Where the test money of the preferred network is free. */
  faucet?: string
  /** People can pay by hand. */
  hasPages: boolean
}

/** Shown after saving: the gateway is live, and what to do next. */
export function LivePage({ sold, onEdit }: { sold: Sold; onEdit: () => void }): JSX.Element {
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => title.current?.focus(), [])
  const testPage = sold.testnet ? buyPage(sold) : undefined
  return (
    <main class="live" id="main">
      <div class="card live-card">
        <span class="live-mark" aria-hidden="true">
          <Icon name="ok" />
        </span>
        <h1 ref={title} tabIndex={-1}>
          Your gateway is live
        </h1>
        <p class="muted">
          Buyers reach it at{' '}
          <a href={sold.url} class="live-url">
            {sold.url}
          </a>
        </p>
        {isLocal(sold.url) && (
          <Notice level="warn" title="Only this machine can reach it">
            <p>
              Buyers elsewhere cannot open {new URL(sold.url).host}. Set the public address in the settings
              before you sell to others.
            </p>
          </Notice>
        )}
        <ol class="steps">
          <li>
            <h2>Ask for the price, as a buyer does</h2>
            <Command text={askCommand(sold)} label="the request" />
          </li>
          {testPage !== undefined && (
            <li>
              <h2>Buy it yourself, with test money</h2>
              <TestPurchase href={testPage} faucet={sold.faucet} />
            </li>
          )}
          <li>
            <h2>{testPage === undefined ? 'Buy something' : 'Buy it from code'}</h2>
            <p class="hint">
              With a wallet that holds USDC. Signing is free for buyers; they never need gas.
            </p>
            <Command text={buyCode(sold)} label="the buyer" />
          </li>
          <li>
            <h2>Watch the sale arrive</h2>
            <p class="hint">The dashboard shows payments, deliveries and refunds as they happen.</p>
            <div class="buttons">
              <a class="button primary" href={`${basePath}/admin`}>
                Open the dashboard
              </a>
              <button type="button" class="button" onClick={onEdit}>
                Change the settings
              </button>
            </div>
          </li>
        </ol>
      </div>
    </main>
  )
}

const isLocal = (url: string): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)

function Command({ text, label }: { text: string; label: string }): JSX.Element {
  return (
    <div class="command">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard. */}
      <pre class="code" tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={label} />
    </div>
  )
}

function askCommand({ url, plans, routes }: Sold): string {
  const plan = plans.find(({ planId }) => planId !== '')
  if (plan) {
    return `curl -i ${url}/x402/access \\\n  -H 'content-type: application/json' \\\n  -d '{"planId":"${plan.planId}"}'`
  }
  const route = routes.find(({ free, path }) => !free && path !== '')
  return route ? `curl -i -X ${route.method} ${url}${example(route.path)}` : `curl ${url}/discover`
}

function buyCode({ url, plans, routes }: Sold): string {
  const plan = plans.find(({ planId }) => planId !== '')
  const route = routes.find(({ free, path }) => !free && path !== '')
  const lines = [
    `import { createBuyer } from 'paystile/buyer'`,
    `import { privateKeyToAccount } from 'viem/accounts'`,
    '',
    `const account = privateKeyToAccount(process.env.BUYER_PRIVATE_KEY)`,
    `const buyer = createBuyer({ account, maxAmount: '$${(plan ?? route)?.price || '1.00'}' })`,
  ]
  return plan || !route
    ? [...lines, `const { grant } = await buyer.buy('${url}', { planId: '${plan?.planId ?? ''}' })`].join(
        '\n',
      )
    : [...lines, `const answer = await buyer.fetch('${url}${example(route.path)}')`].join('\n')
}

/** `/weather/:city` → `/weather/city`. */
const example = (path: string): string => path.replaceAll(':', '')
