import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The version is part of it: npm would refuse a newer major version beside our peer range. Its install script only looks for a
 * build that the registry lacks, for many minutes.
 */
export const INSTALL_ANVIL = 'npm install --save-dev --ignore-scripts @foundry-rs/anvil@1'
export const EMULATE_ANVIL = 'npx paystile sandbox install'
/** What helps on every machine. */
export const BY_HAND = 'Install Foundry (https://getfoundry.sh), whose anvil is then found on the PATH.'

const ARCHITECTURES: Record<string, string> = { x64: 'amd64', arm64: 'arm64' }

/** There is no anvil. The message says in one line what to install. */
export class AnvilMissingError extends Error {
  /** What is missing: npm's package, or in an installed one the build for this machine, which can be emulated or not. */
  readonly missing: 'package' | 'build' | 'emulator'

  constructor(missing: AnvilMissingError['missing'], message: string) {
    super(message)
    this.name = 'AnvilMissingError'
    this.missing = missing
  }
}

/**
 * The path of the anvil binary: that of the optional peer `@foundry-rs/anvil`, one on the PATH, or on 64-bit ARM Linux one
 * for x64 that `fetchEmulatedAnvil` has set up. Throws an error of one line if there is none.
 */
export function resolveAnvil({
  platform = process.platform as string,
  arch = process.arch as string,
  from = [import.meta.url, join(process.cwd(), 'package.json')],
  path = process.env.PATH ?? '',
  emulated = join(emulatedFolder(), 'anvil'),
}: {
  platform?: string
  arch?: string
  /** Where `@foundry-rs/anvil` is looked for. npx runs a package that is not in the project's own folder. */
  from?: readonly string[]
  path?: string
  emulated?: string
} = {}): string {
  const file = platform === 'win32' ? 'anvil.exe' : 'anvil'
  const machine = `${platform}-${ARCHITECTURES[arch] ?? arch}`
  const owner = firstOf(from, (place) => createRequire(place).resolve('@foundry-rs/anvil/package.json'))
  if (owner !== undefined) {
    // The binary's package is a dependency of @foundry-rs/anvil and need not be visible from here (pnpm).
    const own = firstOf([owner], (place) =>
      createRequire(place).resolve(`@foundry-rs/anvil-${machine}/bin/${file}`),
    )
    if (own !== undefined) return own
  }
  // npm's link in .bin starts the package that has no build for this machine.
  const places = path.split(delimiter).filter((folder) => folder !== '' && !folder.endsWith('.bin'))
  const found = places.map((folder) => join(folder, file)).find((place) => existsSync(place))
  if (found !== undefined) return found
  const canEmulate = platform === 'linux' && arch === 'arm64'
  if (canEmulate && existsSync(emulated)) return emulated
  if (owner === undefined) {
    throw new AnvilMissingError(
      'package',
      `The local chain is not installed. Install it with: ${INSTALL_ANVIL}`,
    )
  }
  const noBuild = `The local chain has no build for ${machine} in this registry.`
  throw canEmulate
    ? new AnvilMissingError('emulator', `${noBuild} Set up the one for x64 with: ${EMULATE_ANVIL}`)
    : new AnvilMissingError('build', `${noBuild} ${BY_HAND}`)
}

/** Where an emulated anvil is kept: with the packages of the project, and deleted with them. */
export function emulatedFolder(): string {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const installed = basename(dirname(root)) === 'node_modules'
  return join(installed ? dirname(root) : join(root, 'node_modules'), '.cache', 'anvil-box64')
}

function firstOf(places: readonly string[], find: (place: string) => string): string | undefined {
  for (const place of places) {
    try {
      return find(place)
    } catch {}
  }
  return undefined
}
