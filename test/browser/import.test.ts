import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPages } from '../../src/server/pages.ts'
import { type HttpServer, serveHttp } from '../../src/server/serve-http.ts'
import { createSetupApi, type SetupApiParts } from '../../src/server/setup/create-setup-api.ts'
import { createFixture, FIXTURE_TOKEN } from '../../ui/dev/create-fixture.ts'
import { closeVisitors, openVisitor, showAllSettings } from './browser.ts'
import { inspect } from './looks.ts'

const description = (name: string) =>
  readFileSync(new URL(`../fixtures/openapi/${name}`, import.meta.url), 'utf8')

let server: HttpServer
let api: Server
let apiUrl: string

beforeAll(async () => {
  api = createServer((request, response) => {
    if (request.url === '/openapi.yaml') response.end(description('pet-store.yaml'))
    else response.writeHead(404).end('hunter2')
  })
  await new Promise<void>((listening) => api.listen(0, '127.0.0.1', listening))
  apiUrl = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  const fixture = createFixture()
  const pages = createPages()
  // The form is checked by the fixture, descriptions are read by the real endpoint.
  const setupApi = createSetupApi({} as SetupApiParts)
  server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    handler: async (request) => {
      const { pathname } = new URL(request.url)
      const answer =
        pathname === '/setup/api/import'
          ? await setupApi(request, pathname, {})
          : ((await fixture.fetch(request)) ?? pages(request, pathname))
      return answer ?? new Response(null, { status: 404 })
    },
  })
})
afterAll(async () => {
  await closeVisitors()
  await server?.close(0)
  api?.close()
})

async function openImport() {
  const visitor = await openVisitor()
  await visitor.page.goto(`${server.url}/setup?token=${FIXTURE_TOKEN}`)
  await showAllSettings(visitor.page)
  await visitor.page.getByText('Import routes from an OpenAPI description').click()
  return visitor
}

test('a description is read, priced and put into the list', async () => {
  const { page, complaints, close } = await openImport()
  const address = page.getByLabel('Address of the description')
  await address.fill(`${apiUrl}/none?key=secret`)
  await page.getByRole('button', { name: 'Read the address' }).click()
  await page.getByText(`${apiUrl}/none answered 404 instead of a description.`).waitFor()
  expect(await page.content()).not.toContain('hunter2')

  await address.fill(`${apiUrl}/openapi.yaml`)
  await page.getByRole('button', { name: 'Read the address' }).click()
  await page.getByRole('heading', { name: 'Pet Store: 7 routes' }).waitFor()
  await page.getByText('its calls are sold as route getPetById').waitFor()
  const take = page.getByRole('button', { name: 'Put these' })
  expect(await take.isDisabled(), 'some have no price').toBe(true)
  await page.getByLabel('One price for all').fill('0.01')
  await page.getByRole('button', { name: 'Set the price' }).click()
  expect(await page.getByLabel('Price of POST /store/order').inputValue()).toBe('0.05')
  await page.getByLabel('Price of GET /pet/:petId').fill('0.03')
  await page.getByLabel('Price of POST /pet/:petId/uploadImage').fill('free')
  await page.getByLabel('DELETE /pet/:petId', { exact: false }).first().uncheck()
  await inspect(page, 'import')

  const checked = page.waitForRequest((request) => request.postDataJSON()?.values?.ROUTES?.length === 6)
  await page.getByRole('button', { name: 'Put these 6 routes into the list' }).click()
  await page.getByText('6 routes are in the list. Save to sell them.').waitFor()
  const { values } = (await checked).postDataJSON()
  expect(values.PROXY_TO_BASE_URL).toBe(`${apiUrl}/api/v3`)
  const route = (id: string) => values.ROUTES.find(({ routeId }: { routeId: string }) => routeId === id)
  expect(route('getPetById')).toMatchObject({ path: '/pet/:petId', unitAmount: '$0.03' })
  expect(route('getInventory')).toMatchObject({ free: true })
  expect(route('uploadFile')).toMatchObject({ free: true })
  expect(route('updatePet')).toMatchObject({ unitAmount: '$0.01', inputSchema: { required: ['body'] } })

  // Pasted again: what was set stays, a metered route too, and what was left out is new.
  const metered = page.locator('#list-routes li').first()
  await metered.getByLabel('Metered').check()
  await metered.getByLabel('At most per call').fill('0.02')
  await page.getByLabel('Or paste it').fill(description('pet-store.json'))
  await page.getByRole('button', { name: 'Read the text' }).click()
  await page.getByRole('heading', { name: 'Pet Store: 7 routes' }).waitFor()
  expect(await page.getByLabel('Price of GET /pet/:petId').inputValue()).toBe('0.03')
  expect(await page.getByText('unchanged').count()).toBe(6)
  expect(await page.getByLabel('Price of PUT /pet', { exact: true }).getAttribute('placeholder')).toBe(
    'up to 0.02',
  )
  await page.getByLabel('DELETE /pet/:petId', { exact: false }).first().uncheck()
  expect(await take.isDisabled(), 'a metered route needs no other price').toBe(false)
  await page.getByText('is no whole address ("/api/v3"); fill in the backend below').waitFor()

  await page.locator('input[type=file]').setInputFiles({
    name: 'old.yaml',
    mimeType: 'application/yaml',
    buffer: Buffer.from('swagger: "2.0"'),
  })
  await page.getByText('old.yaml is Swagger 2.0; convert it').waitFor()
  expect(complaints).toEqual([])
  await close()
})
