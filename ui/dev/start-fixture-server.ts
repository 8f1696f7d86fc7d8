import { createPages } from '../../src/server/pages.ts'
import { serveHttp } from '../../src/server/serve-http.ts'
import type { ChallengeItem } from '../shared/wire.ts'
import { createFixture, type FixtureOptions } from './create-fixture.ts'

/** The built pages on the fixture's API, at a free port. */
export async function startFixtureServer(
  options: FixtureOptions = {},
): Promise<{ url: string; sell(): ChallengeItem; close(): Promise<void> }> {
  const fixture = createFixture(options)
  const pages = createPages()
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    handler: async (request) =>
      (await fixture.fetch(request)) ??
      pages(request, new URL(request.url).pathname) ??
      new Response(null, { status: 404 }),
  })
  return { url: server.url, sell: fixture.sell, close: () => server.close(0) }
}
