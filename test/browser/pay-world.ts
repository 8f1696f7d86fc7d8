import { mkdir } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'
import type { DevAccount } from '../../src/testing/index.ts'
import { CALL_PRICE, type RoutesWorld, startRoutesWorld } from '../e2e/routes-world.ts'
import { TOKEN_SECRET } from '../e2e/world.ts'
import {
  DESKTOP,
  expectAccessible,
  expectNoSidewaysScroll,
  launchBrowser,
  openVisitor,
  PHONE,
  type Visitor,
} from './browser.ts'
import { type InjectedWallet, injectWallet } from './injected-wallet.ts'

/** A folder for pictures of every state, to look at. */
const PICTURES = process.env.PAGE_PICTURES

const ROUTES = [
  { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01', description: 'One city' },
  { routeId: 'site', method: 'GET', path: '/site/:page', unitAmount: '$0.01', raw: true },
] as const

const PLANS = [{ planId: 'basic', unitAmount: '$1.00', description: 'Forecasts for an hour' }]

interface Person extends Visitor {
  wallet: InjectedWallet
  buyer: DevAccount
  open(target: string): Promise<void>
  pay(): Promise<void>
}

/** A shop whose pages take payments by hand, and a browser to visit it with. */
export interface PayWorld {
  browser: Browser
  routes: RoutesWorld
  person(options?: { micro?: bigint; wallet?: Parameters<typeof injectWallet>[3] }): Promise<Person>
  paidBy(buyer: DevAccount): Promise<bigint[]>
  stop(): Promise<void>
}

export async function startPayWorld(): Promise<PayWorld> {
  if (PICTURES) await mkdir(PICTURES, { recursive: true })
  const browser = await launchBrowser()
  const routes = await startRoutesWorld({
    options: {
      routes: ROUTES,
      plans: PLANS,
      tokenSecret: TOKEN_SECRET,
      settleWaitSeconds: 1,
      refundMinAgeSeconds: 5,
      agentName: 'Weather & Sons',
    },
  })
  return {
    browser,
    routes,
    async person(options = {}) {
      const { chain, baseUrl } = routes.world
      const buyer = await chain.newBuyer({ micro: options.micro ?? 5n * CALL_PRICE })
      const visitor = await openVisitor(browser)
      const wallet = await injectWallet(visitor.page, buyer, chain.rpcUrl, options.wallet)
      return {
        ...visitor,
        wallet,
        buyer,
        open: async (target) => void (await visitor.page.goto(baseUrl + target)),
        pay: () => visitor.page.getByRole('button', { name: /^Pay with/ }).click(),
      }
    },
    paidBy: async (buyer) => (await routes.world.flows(buyer)).paid,
    async stop() {
      await browser.close()
      await routes.stop()
    },
  }
}

/** The page as it stands is accessible, fits a phone, and is pictured in both color schemes if somebody wants to look. */
export async function inspect(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await expectAccessible(page, `${name}, ${colorScheme}`, { colorScheme })
    if (PICTURES)
      await page.screenshot({ path: `${PICTURES}/pay-${name}-${colorScheme}.png`, fullPage: true })
  }
  await page.setViewportSize(PHONE)
  await expectNoSidewaysScroll(page)
  if (PICTURES) await page.screenshot({ path: `${PICTURES}/pay-${name}-phone.png`, fullPage: true })
  await page.setViewportSize(DESKTOP)
  await page.emulateMedia({ colorScheme: 'light' })
}
