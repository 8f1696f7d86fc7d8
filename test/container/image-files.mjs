import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Everything in a folder, links not followed. */
function* walk(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    yield path
    if (entry.isDirectory()) yield* walk(path)
  }
}

// Folders in which every Debian program may write; a read-only root makes these read-only too.
const SHARED_TEMPORARY = ['/tmp', '/var/tmp', '/run/lock']

/** What this user may write in the image itself, before any mount. */
export function writablePlaces(rootfs, { uid, gid }) {
  const found = []
  for (const path of walk(rootfs)) {
    const file = lstatSync(path)
    const name = `/${relative(rootfs, path)}`
    if (file.isSymbolicLink() || name.startsWith('/dev/') || SHARED_TEMPORARY.includes(name)) continue
    const own = file.uid === uid || (file.gid === gid && file.mode & 0o020) || file.mode & 0o002
    if (own) found.push(name)
  }
  return found
}

// Attack 37: files for tests, demonstrations and development are not in the image, so no option or mistake can use them.
const FOREIGN = [
  [/\.(ts|mts|cts|map|tsbuildinfo)$/, 'a source or a map'],
  [/^(src|test|bench|examples|scripts|ui|docs|data|\.git|\.sandbox)(\/|$)/, 'part of the repository'],
  [/^dist\/(testing|sandbox|.*\.test\.)/, 'a test or demonstration'],
  [/(^|\/)\.env/, 'an environment file'],
]

/** Files of the application that should not be in the image, with the reason. */
export function foreignFiles(rootfs) {
  const app = join(rootfs, 'app')
  const found = []
  for (const path of walk(app)) {
    const name = relative(app, path)
    const why = FOREIGN.find(([pattern]) => pattern.test(name))?.[1]
    if (why) found.push(`${name} (${why})`)
  }
  for (const tool of ['npm', 'npx', 'yarn', 'corepack', 'curl', 'wget', 'gcc', 'python3']) {
    for (const place of ['usr/local/bin', 'usr/bin', 'bin']) {
      if (existsSync(join(rootfs, place, tool))) found.push(`/${place}/${tool} (a tool nobody needs here)`)
    }
  }
  return found
}

/** Installed packages that the lock file marks as needed for development only. */
export function developmentPackages(rootfs, lockFile) {
  const locked = JSON.parse(readFileSync(lockFile, 'utf8')).packages
  return Object.entries(locked)
    .filter(([path, entry]) => path !== '' && entry.dev === true && existsSync(join(rootfs, 'app', path)))
    .map(([path]) => path)
}

/** Bytes on disk of a folder in the image. */
export function sizeOf(folder) {
  let bytes = 0
  for (const path of walk(folder)) bytes += lstatSync(path).size
  return bytes
}
