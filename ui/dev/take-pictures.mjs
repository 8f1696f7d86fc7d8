// node ui/dev/take-pictures.mjs [folder]: the pictures of the pages in docs/, from the built pages and made-up sales.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import { createServer } from 'vite'
import { ensureBuilt, ensureSystem } from '../../scripts/prepare.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const folder = process.argv[2] ?? join(root, 'docs')
mkdirSync(folder, { recursive: true })

await ensureBuilt()
const { chromium: executablePath } = await ensureSystem(['chromium'])
// Only to load TypeScript.
const vite = await createServer({
  root,
  configFile: false,
  appType: 'custom',
  logLevel: 'error',
  server: { middlewareMode: true, hmr: false, ws: false, watch: null },
})
const { startFixtureServer } = await vite.ssrLoadModule('/ui/dev/start-fixture-server.ts')
const { FIXTURE_TOKEN } = await vite.ssrLoadModule('/ui/dev/create-fixture.ts')
const [fresh, running] = await Promise.all([
  startFixtureServer({ locked: { BASE_URL: 'https://api.weather.example' } }),
  startFixtureServer({ configured: true }),
])
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] })

const desktop = { width: 1360, height: 1400 }
const phone = { width: 360, height: 780 }
const looks = [
  ['light', { viewport: desktop, colorScheme: 'light' }],
  ['dark', { viewport: desktop, colorScheme: 'dark' }],
  ['phone', { viewport: phone, colorScheme: 'light', deviceScaleFactor: 2 }],
]
try {
  for (const [look, options] of looks) {
    await withPage(options, async (page) => {
      await page.goto(`${fresh.url}/setup?token=${FIXTURE_TOKEN}`)
      await fillForm(page)
      await page.screenshot({ path: join(folder, `setup-${look}.png`) })
    })
    await withPage(options, async (page) => {
      await page.goto(`${running.url}/admin?token=${FIXTURE_TOKEN}`)
      await page.locator('.challenges tbody tr').first().waitFor()
      await page.screenshot({ path: join(folder, `admin-${look}.png`) })
    })
  }
} finally {
  await browser.close()
  await Promise.all([fresh.close(), running.close(), vite.close()])
}

async function withPage(options, run) {
  const context = await browser.newContext({ locale: 'en-GB', reducedMotion: 'reduce', ...options })
  try {
    await run(await context.newPage())
  } finally {
    await context.close()
  }
}

async function fillForm(page) {
  await page.getByRole('button', { name: 'Show all settings' }).click()
  await page.getByLabel('Name optional').fill('Weather API')
  await page.getByLabel('Description optional').fill('Hourly forecasts for every place on earth, as JSON.')
  await page.getByLabel('Wallet address').fill('0x70997970C51812dc3A010C7d01b50e0d17dc79C8')
  await page.getByLabel('Plan id').fill('hourly')
  await page.getByLabel('Price', { exact: true }).fill('0.25')
  await page.getByLabel('Description', { exact: true }).fill('An hour of everything')
  await page.getByText('holds 412.34 USDC').waitFor()
  await page.locator('.offer').waitFor()
  await page.evaluate('scrollTo(0, 0)')
}
