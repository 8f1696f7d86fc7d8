import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BY_HAND } from './resolve-anvil.ts'
import { runProgram } from './run-program.ts'

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
/** The emulator, the C library that it was built against, and what a program for x64 is linked to. */
const PACKAGES = ['box64', 'libc6', 'libc6-amd64-cross', 'libgcc-s1-amd64-cross']

/**
 * Fetches box64, which runs programs for x64 on 64-bit ARM several times faster than qemu does. Debian has one that is
 * new enough in `testing` only, so it is unpacked into a folder and not installed, which needs no root.
 *
 * @returns how a shell script starts it, up to the program's name
 */
export async function fetchBox64(folder: string): Promise<string> {
  const unavailable = (why: string) =>
    new Error(`The emulator of the local chain cannot be fetched: ${why} ${BY_HAND}`)
  if (!existsSync(KEYRING)) throw unavailable(`it comes from Debian, and ${KEYRING} is missing here.`)
  const run = async (command: string, ...args: string[]): Promise<string> => {
    const { code, output } = await runProgram(command, args, { cwd: folder })
    if (code !== 0) throw unavailable(`${command} ${args.join(' ')} failed: ${output.trim()}`)
    return output
  }
  rmSync(folder, { recursive: true, force: true })
  for (const part of ['lists/partial', 'archives/partial']) {
    mkdirSync(join(folder, part), { recursive: true })
  }
  const sites = await run('apt-get', 'indextargets', '--format', '$(SITE)', 'Created-By: Packages')
  const sources = join(folder, 'sources.list')
  writeFileSync(sources, `deb [signed-by=${KEYRING}] ${sites.split('\n')[0]} testing main\n`)
  const settings = [
    `Dir::State::lists=${folder}/lists`,
    `Dir::Cache=${folder}`,
    `Dir::Etc::sourcelist=${sources}`,
    'Dir::Etc::sourceparts=-',
    'Acquire::Languages=none',
    'APT::Sandbox::User=root',
  ].flatMap((setting) => ['-o', setting])
  for (const args of [['update'], ['download', ...PACKAGES]]) {
    await run('apt-get', '-qq', ...settings, ...args)
  }
  for (const file of readdirSync(folder).filter((name) => name.endsWith('.deb'))) {
    await run('dpkg', '-x', file, 'root')
  }
  const system = join(folder, 'root', 'usr')
  const libraries = join(system, 'lib/aarch64-linux-gnu')
  const settingsOfBox = [
    `BOX64_LD_LIBRARY_PATH='${join(system, 'x86_64-linux-gnu/lib')}'`,
    'BOX64_DYNACACHE=0',
    'BOX64_NOBANNER=1',
    'BOX64_LOG=0',
  ]
  // All threads on one core, which keeps the memory order of x64: with two cores, anvil crashed once in a hundred starts.
  const oneCore = 'taskset -c $(($$ % $(nproc)))'
  const loader = join(libraries, 'ld-linux-aarch64.so.1')
  const box64 = join(system, 'bin/box64')
  return `exec env ${settingsOfBox.join(' ')} ${oneCore} '${loader}' --library-path '${libraries}' '${box64}'`
}
