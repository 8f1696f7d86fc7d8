import { fileURLToPath } from 'node:url'
import { defineConfig, type Plugin } from 'vite'

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** `npx vite ui` shows the pages with made-up sales; add `?token=fixture-token-of-the-operator` to log in. */
const fixture: Plugin = {
  name: 'fixture',
  apply: 'serve',
  // Loaded by the development server only; a build does not need it.
  async configureServer(server) {
    type Dev = typeof import('./dev/create-fixture.ts') & typeof import('./dev/serve-fixture.ts')
    const load = async (file: string): Promise<Dev> => (await server.ssrLoadModule(file)) as Dev
    const { createFixture } = await load('/dev/create-fixture.ts')
    const { serveFixture } = await load('/dev/serve-fixture.ts')
    const { fetch } = createFixture({ configured: true, liveSales: true })
    server.middlewares.use(serveFixture(fetch))
  },
}

export default defineConfig({
  root: here('.'),
  // Relative, so that one build works below any base path: the pages are beside the folder admin/.
  base: './',
  plugins: [fixture],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: here('../dist/ui'),
    emptyOutDir: true,
    assetsDir: 'admin/assets',
    // A data: URL would need a wider content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: 'es2022',
    reportCompressedSize: false,
    rolldownOptions: { input: { setup: here('setup.html'), admin: here('admin.html') } },
  },
})
