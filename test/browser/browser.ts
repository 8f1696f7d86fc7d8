import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, join } from 'node:path'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import { expect } from 'vitest'

/** As in scripts/prepare.mjs. */
const PROGRAMS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

export const DESKTOP = { width: 1280, height: 860 }
export const PHONE = { width: 360, height: 760 }

let launched: Promise<Browser> | undefined

/** One for all test files of a process, since starting one takes as long as many tests; it ends with the process. */
async function sharedBrowser(): Promise<Browser> {
  if (launched && !(await launched).isConnected()) launched = undefined
  launched ??= launchBrowser()
  return await launched
}

/** The system's Chromium, which `npm test` installs where it can. */
async function launchBrowser(): Promise<Browser> {
  const places = (process.env.PATH ?? '').split(delimiter)
  const executablePath = PROGRAMS.flatMap((name) => places.map((place) => join(place, name))).find(existsSync)
  if (!executablePath)
    throw new Error('Chromium is not installed; on Debian: apt-get install chromium-headless-shell')
  return await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

export interface Visitor {
  page: Page
  /** Everything that any response contained so far, headers included. */
  received(): Promise<string>
  /** What the browser complained of: broken rules of the content security policy, uncaught errors. */
  complaints: string[]
  close(): Promise<void>
}

const open = new Set<BrowserContext>()

/** A window of its own, without cookies, that remembers all that it is sent. */
export async function openVisitor(options: BrowserContextOptions = {}): Promise<Visitor> {
  const browser = await sharedBrowser()
  const context = await browser.newContext({
    viewport: DESKTOP,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    ...options,
  })
  open.add(context)
  context.once('close', () => open.delete(context))
  // Slow machines: what matters is that it happens, not how soon.
  context.setDefaultTimeout(45_000)
  const page = await context.newPage()
  const bodies: Array<Promise<string>> = []
  const complaints: string[] = []
  page.on('pageerror', (error) => complaints.push(error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content Security Policy|Refused to/.test(message.text())) {
      complaints.push(message.text())
    }
  })
  page.on('response', (response) => {
    const head = `${response.url()} ${JSON.stringify(response.headers())}`
    // The event stream has no end, and a page that was left takes its bodies along.
    const isStream = response.headers()['content-type']?.startsWith('text/event-stream')
    bodies.push(
      isStream
        ? Promise.resolve(head)
        : response.text().then(
            (text) => head + text,
            () => head,
          ),
    )
  })
  return {
    page,
    complaints,
    received: async () => (await Promise.all(bodies)).join('\n'),
    close: () => context.close(),
  }
}

/** Closes what a file's tests left open, be it that they failed. */
export async function closeVisitors(): Promise<void> {
  await Promise.all([...open].map((context) => context.close()))
}

/** No serious or critical fault by axe, as the page stands now. Stated to be dark: of its colours, since the rest is checked in the light. */
export async function expectAccessible(
  page: Page,
  what: string,
  { colorScheme }: Pick<BrowserContextOptions, 'colorScheme'> = {},
): Promise<void> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await page.evaluate(axe)
  const options = {
    resultTypes: ['violations'],
    preload: false,
    ...(colorScheme === 'dark' && { runOnly: ['color-contrast'] }),
  }
  const found = (await page.evaluate(`axe.run(document, ${JSON.stringify(options)})`)) as {
    violations: Array<{ id: string; impact: string; nodes: Array<{ html: string; failureSummary: string }> }>
  }
  const grave = found.violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  const told = grave.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join('\n')}`,
  )
  expect(told, what).toEqual([])
}

/** Nothing is wider than the screen; what is, is named. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const wide = await page.evaluate(`(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    if (scrollWidth <= clientWidth) return []
    const beyond = [...document.querySelectorAll('body *')].filter((element) => element.getBoundingClientRect().right > clientWidth)
    return [scrollWidth + ' > ' + clientWidth, ...beyond.map((element) => element.outerHTML.slice(0, 160))]
  })()`)
  expect(wide).toEqual([])
}

/** From the short form of a seller who begins to the long one. */
export async function showAllSettings(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Show all settings' }).click()
}
