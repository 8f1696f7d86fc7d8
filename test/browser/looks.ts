import { join } from 'node:path'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { repetitions } from '../at-length.ts'
import { DESKTOP, expectAccessible, expectNoSidewaysScroll, PHONE } from './browser.ts'

/** A folder for pictures of every page, to look at. */
const PICTURES = process.env.PAGE_PICTURES

/** What a page is looked at in: two that differ in everything, and all four in a long run. */
export const LOOKS = (
  [
    ['desktop-light', { viewport: DESKTOP, colorScheme: 'light' }],
    ['phone-dark', { viewport: PHONE, colorScheme: 'dark' }],
    ['desktop-dark', { viewport: DESKTOP, colorScheme: 'dark' }],
    ['phone-light', { viewport: PHONE, colorScheme: 'light' }],
  ] satisfies Array<[string, BrowserContextOptions]>
).slice(0, repetitions({ few: 2, many: 4 }))

/** Only if somebody wants to look. */
export async function takePicture(page: Page, name: string): Promise<void> {
  if (PICTURES) await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true })
}

/** The page as it stands is accessible on a desktop in the light and on a phone in the dark, where it also fits. It ends as it began: wide and light. */
export async function inspect(page: Page, name: string): Promise<void> {
  await expectAccessible(page, `${name}, light`)
  await takePicture(page, `${name}-light`)
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize(PHONE)
  await expectAccessible(page, `${name}, dark`, { colorScheme: 'dark' })
  await expectNoSidewaysScroll(page)
  await takePicture(page, `${name}-phone`)
  await page.setViewportSize(DESKTOP)
  await page.emulateMedia({ colorScheme: 'light' })
}
