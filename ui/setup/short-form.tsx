import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { RadioCards } from './choice.tsx'
import { Field } from './fields.tsx'
import { blankPlan, blankRoute, type PlanRow, type RouteRow } from './form-state.ts'
import { generateSecret } from './generate-secret.ts'
import { Cell, RowMessages } from './sections/cell.tsx'
import { FirstNetworks } from './sections/first-networks.tsx'
import { useSetupContext } from './use-setup.ts'

const KINDS = [
  { value: 'route', title: 'Single calls', text: 'Each call of your API is paid for.' },
  { value: 'plan', title: 'Access for an hour', text: 'One payment, then a token for all of it.' },
] as const

/** Whether the short form is enough to begin with: nothing is sold yet, and nothing is wrong. */
export function isFresh({ form, state }: ReturnType<typeof useSetupContext>): boolean {
  const { plans, routes } = form
  const isBlank = routes.length === 0 && plans.every(({ planId }) => planId === '')
  return !state.configured && isBlank && state.faults.length === 0 && !state.locked.includes('PLANS')
}

/** The least that sells something: a wallet, one thing, and where buyers find it. */
export function ShortForm({ onAll }: { onAll: () => void }): JSX.Element {
  const setup = useSetupContext()
  const [kind, setKind] = useState<'route' | 'plan'>('route')
  const choose = (next: typeof kind): void => {
    setKind(next)
    setup.setPlans(next === 'plan' ? [blankPlan()] : [])
    setup.setRoutes(next === 'route' ? [blankRoute()] : [])
    const signs = setup.state.secrets.TOKEN_SECRET?.set || setup.form.secrets.TOKEN_SECRET
    // This server checks the tokens itself, so that nobody else has to know it.
    if (next === 'plan' && !signs) setup.setSecret('TOKEN_SECRET', generateSecret())
  }
  useEffect(() => choose('route'), [])
  return (
    <>
      <section class="card setup-section" aria-labelledby="short-wallet">
        <h2 id="short-wallet">1. Your wallet</h2>
        <FirstNetworks />
        <Field
          name="SVC_WALLET_ADDRESS"
          label="Wallet address"
          hint="Receives the USDC. Use an address of your own, not a deposit address of an exchange."
          placeholder="0x…"
          mono
        />
      </section>
      <section class="card setup-section" aria-labelledby="short-item">
        <h2 id="short-item">2. One thing to sell</h2>
        <RadioCards legend="What buyers pay for" name="kind" sides={KINDS} value={kind} onChange={choose} />
        <Field
          name="PROXY_TO_BASE_URL"
          label="Your API"
          hint="Paid calls go to this address plus their path."
          placeholder="http://backend:8080"
          inputMode="url"
        />
        {kind === 'route' ? <OneRoute /> : <OnePlan />}
      </section>
      <section class="card setup-section" aria-labelledby="short-live">
        <h2 id="short-live">3. Go live</h2>
        <Field
          name="BASE_URL"
          label="Public address"
          hint="Where buyers reach this server from outside. It is in every offer that they sign."
          placeholder="https://api.example.com"
          inputMode="url"
          optional
        />
        <p class="hint">
          More plans and routes, refunds, your own gas wallet, agents and webhooks can come later, or now:
        </p>
        <div class="buttons">
          <button type="button" class="button" onClick={onAll}>
            Show all settings
          </button>
        </div>
      </section>
    </>
  )
}

function OneRoute(): JSX.Element | null {
  const setup = useSetupContext()
  const [row] = setup.form.routes
  const messages = setup.rowMessagesOf('ROUTES')
  if (!row) return null
  const change = (part: Partial<RouteRow>): void => setup.setRoutes([{ ...row, ...part }])
  return (
    <div id="list-routes">
      <div class="row-cells short-cells">
        <Cell
          id="route-0-path"
          cell="path"
          label="Path"
          placeholder="/weather/:city"
          value={row.path}
          messages={messages}
          mono
          onInput={(path) => change({ path, routeId: idOf(path) })}
        />
        <Cell
          id="route-0-price"
          cell="unitAmount"
          label="Price per call"
          dollars
          placeholder="0.01"
          value={row.price}
          messages={messages}
          onInput={(price) => change({ price })}
        />
      </div>
      <RowMessages
        messages={messages}
        boxes={{
          path: { id: 'route-0-path', label: 'Path' },
          unitAmount: { id: 'route-0-price', label: 'Price per call' },
        }}
      />
    </div>
  )
}

function OnePlan(): JSX.Element | null {
  const setup = useSetupContext()
  const [row] = setup.form.plans
  const messages = setup.rowMessagesOf('PLANS')
  if (!row) return null
  const change = (part: Partial<PlanRow>): void => setup.setPlans([{ ...row, ...part }])
  return (
    <div id="list-plans">
      <div class="row-cells short-cells">
        <Cell
          id="plan-0-planId"
          cell="planId"
          label="Its name"
          placeholder="hourly"
          value={row.planId}
          messages={messages}
          mono
          onInput={(planId) => change({ planId })}
        />
        <Cell
          id="plan-0-price"
          cell="unitAmount"
          label="Price"
          dollars
          placeholder="1.00"
          value={row.price}
          messages={messages}
          onInput={(price) => change({ price })}
        />
      </div>
      <RowMessages
        messages={messages}
        boxes={{
          planId: { id: 'plan-0-planId', label: 'Its name' },
          unitAmount: { id: 'plan-0-price', label: 'Price' },
        }}
      />
    </div>
  )
}

/** `/v1/weather/:city` → `v1-weather`: a route needs an id, and a new seller need not think of one. */
const idOf = (path: string): string =>
  path
    .split('/')
    .filter((part) => part !== '' && !part.startsWith(':'))
    .join('-')
    .replace(/[^\w-]+/g, '-') || (path.trim() === '' ? '' : 'call')
