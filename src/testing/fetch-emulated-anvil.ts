import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fetchBox64 } from './fetch-box64.ts'
import { BY_HAND, emulatedFolder } from './resolve-anvil.ts'
import { runNpm, runProgram } from './run-program.ts'

/** The build for x64 that is emulated. A test compares it with package-lock.json. */
export const X64_BUILD = {
  name: '@foundry-rs/anvil-linux-amd64',
  version: '1.7.1',
  integrity:
    'sha512-+XmShybEaxfCrr0OUUZwYEy2OnYZt5pHH9TzBtLv3+VrK0O/ANuNSVEahqNhKHlgX7GRJ59383ofNhxkRWIYTg==',
}

/**
 * Sets up anvil on 64-bit ARM Linux, where a registry may lack its build: the one for x64 in an emulator, which is slower.
 * `resolveAnvil` finds it from then on.
 */
export async function fetchEmulatedAnvil(folder = emulatedFolder()): Promise<void> {
  const { name, version, integrity } = X64_BUILD
  mkdirSync(folder, { recursive: true })
  const start = await fetchBox64(join(folder, 'box64'))
  const packed = await runNpm(['pack', `${name}@${version}`, '--pack-destination', folder])
  const archive = join(folder, `foundry-rs-anvil-linux-amd64-${version}.tgz`)
  if (packed.code !== 0) throw new Error(`npm pack ${name} failed: ${packed.output.trim()}`)
  const hash = createHash('sha512').update(readFileSync(archive)).digest('base64')
  if (integrity !== `sha512-${hash}`) throw new Error(`${archive} is not the build that was published.`)
  const unpacked = await runProgram('tar', ['-xzf', archive, '-C', folder])
  if (unpacked.code !== 0) throw new Error(`${archive} cannot be unpacked: ${unpacked.output.trim()}`)
  const script = `#!/bin/sh\n${start} '${join(folder, 'package/bin/anvil')}' "$@"\n`
  const untried = join(folder, 'anvil.new')
  writeFileSync(untried, script, { mode: 0o755 })
  const tried = await runProgram(untried, ['--version'])
  if (tried.code !== 0) throw new Error(`Under box64 anvil does not start. ${BY_HAND} ${tried.output.trim()}`)
  // Renamed last, so that its presence means that everything else is complete.
  renameSync(untried, join(folder, 'anvil'))
}
