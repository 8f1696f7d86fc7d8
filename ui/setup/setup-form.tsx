import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { SetupState } from '../shared/wire.ts'
import { Announcer } from './announcer.tsx'
import { blankPlan, filledPlans, filledRoutes } from './form-state.ts'
import type { Sold } from './live-page.tsx'
import { Preview } from './preview.tsx'
import { SaveBar } from './save-bar.tsx'
import { SectionNav } from './section-nav.tsx'
import { CredentialsSection } from './sections/credentials.tsx'
import { OperationsSection } from './sections/operations.tsx'
import { PlansSection } from './sections/plans.tsx'
import { RoutesSection } from './sections/routes.tsx'
import { SellerSection } from './sections/seller.tsx'
import { RefundsSection, SettlementSection } from './sections/settlement.tsx'
import { StorageSection } from './sections/storage.tsx'
import { TransportsSection } from './sections/transports.tsx'
import { WalletSection } from './sections/wallet.tsx'
import { isFresh, ShortForm } from './short-form.tsx'
import { Snippets } from './snippets.tsx'
import { SetupContext, useSetup } from './use-setup.ts'

export function SetupForm({
  state,
  onLive,
}: {
  state: SetupState
  onLive: (sold: Sold) => void
}): JSX.Element {
  const setup = useSetup(state)
  const [isShort, setShort] = useState(() => isFresh(setup))
  const showAll = (): void => {
    setShort(false)
    if (filledPlans(setup.form.plans).length + filledRoutes(setup.form.routes).length > 0) return
    setup.setRoutes([])
    setup.setPlans([blankPlan()])
  }
  return (
    <SetupContext.Provider value={setup}>
      <main class={isShort ? 'setup short' : 'setup'} id="main">
        {!isShort && <SectionNav />}
        <form class="setup-form" noValidate onSubmit={(event) => event.preventDefault()}>
          <div class="page-title">
            <h1>{state.configured ? 'Settings' : 'Start selling'}</h1>
            <p class="muted">
              {state.configured
                ? 'Changes take effect when you save. Sales in progress are not interrupted.'
                : 'A wallet and a price are enough. Everything is checked while you type, and nothing is live before you save.'}
            </p>
          </div>
          {isShort ? (
            <ShortForm onAll={showAll} />
          ) : (
            <>
              <SellerSection />
              <WalletSection />
              <PlansSection />
              <RoutesSection />
              <CredentialsSection />
              <SettlementSection />
              <RefundsSection />
              <StorageSection />
              <TransportsSection />
              <OperationsSection />
            </>
          )}
          <SaveBar onLive={onLive} {...(isShort && { onAll: showAll })} />
        </form>
        <aside class="setup-aside" aria-label="Preview">
          <Preview />
          <Snippets />
        </aside>
      </main>
      <Announcer />
    </SetupContext.Provider>
  )
}
