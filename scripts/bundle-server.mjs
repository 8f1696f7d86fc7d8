import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './prepare.mjs'

/** What has native parts, or starts threads from files of its own. */
const APART = ['libsql', 'pino']

/** The command line, and what the crash tests put their instruments around. */
const BUILT = {
  main: join(root, 'dist', 'cli', 'main.js'),
  gateway: join(root, 'dist', 'gateway.js'),
  'serve-http': join(root, 'dist', 'server', 'serve-http.js'),
}
const FOLDER = join(root, 'node_modules', '.cache', 'paystile-server')

/**
 * Bundles the built command line into a few files, for tests that start many servers: those start in half the time, most of
 * which is spent on finding and reading almost a thousand small files. Returns the path of the command line's program.
 */
export async function bundleServer(input = BUILT, folder = FOLDER) {
  // Vite brings it along.
  const rolldown = createRequire(createRequire(import.meta.url).resolve('vite')).resolve('rolldown')
  const { build } = await import(pathToFileURL(rolldown).href)
  await build({
    input,
    platform: 'node',
    external: APART,
    logLevel: 'warn',
    // Files that the code reads are found from where it was built.
    plugins: [
      {
        name: 'own-place',
        transform: (code, id) =>
          code.includes('import.meta.url')
            ? code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
            : undefined,
      },
    ],
    output: { dir: folder, format: 'esm', cleanDir: true },
  })
  // Node would otherwise read every file as CommonJS first.
  await writeFile(join(folder, 'package.json'), '{ "type": "module" }\n')
  return join(folder, 'main.js')
}
