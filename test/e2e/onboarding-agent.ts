import { spawn, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

/** An agent that is given a base URL and a funded key, and does what the documents say. */
export interface Agent {
  /** The commands of skills.md, in its order. */
  commands: string[]
  /** Runs one of them, as a shell would. */
  run(
    command: string,
    env?: Record<string, string>,
  ): Promise<{ code: number | null; out: string; err: string }>
  file(name: string): Promise<string>
  /** What the compiler says of a saved file. */
  typeErrors(name: string): Promise<string>
  leave(): Promise<void>
}

export async function sendAgent(baseUrl: string, privateKey: string): Promise<Agent> {
  const llms = await (await fetch(`${baseUrl}/llms.txt`)).text()
  const skills = /\[How to buy\]\((\S+)\)/.exec(llms)?.[1]
  if (skills === undefined) throw new Error(`llms.txt names no walk-through:\n${llms}`)
  const text = await (await fetch(skills)).text()
  const folder = await mkdtemp(join(tmpdir(), 'paystile-agent-'))
  for (const [, name, code] of text.matchAll(/Save as `([^`]+)`:\n\n```js\n(.*?)\n```/gs)) {
    await writeFile(join(folder, name!), code!)
  }
  const commands = [...text.matchAll(/```sh\n(.*?)\n```/gs)].map(([, command]) => command!)
  return {
    commands,
    async run(command, env = {}) {
      const [program, ...words] = command.split(' ')
      if (program === 'npm') {
        // What it would fetch is here already.
        await rm(join(folder, 'node_modules'), { force: true })
        await symlink(resolve('node_modules'), join(folder, 'node_modules'))
        return { code: 0, out: '', err: '' }
      }
      const child = spawn(process.execPath, words, {
        cwd: folder,
        env: { ...env, BUYER_PRIVATE_KEY: privateKey },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let [out, err] = ['', '']
      child.stdout.setEncoding('utf8').on('data', (chunk) => {
        out += chunk
      })
      child.stderr.setEncoding('utf8').on('data', (chunk) => {
        err += chunk
      })
      const code = await new Promise<number | null>((ended, failed) =>
        child.once('close', ended).once('error', failed),
      )
      return { code, out, err }
    },
    async typeErrors(name) {
      // That a variable is set, and holds a key, is for whoever runs it to see to.
      const typed = (await readFile(join(folder, name), 'utf8')).replace(
        'process.env.BUYER_PRIVATE_KEY',
        // biome-ignore lint/suspicious/noTemplateCurlyInString: a type in a comment of the checked text
        '/** @type {`0x${string}`} */ (process.env.BUYER_PRIVATE_KEY)',
      )
      const checked = `typed-${name}`
      await writeFile(join(folder, checked), typed)
      const options =
        '--noEmit --checkJs --allowJs --strict --skipLibCheck --module nodenext --target es2023 --types node'
      const tsc = resolve('node_modules/typescript-native/bin/tsc')
      const { status, stdout } = spawnSync(process.execPath, [tsc, ...options.split(' '), checked], {
        cwd: folder,
        encoding: 'utf8',
      })
      return status === 0 ? '' : stdout
    },
    file: (name) => readFile(join(folder, name), 'utf8'),
    leave: () => rm(folder, { recursive: true, force: true }),
  }
}
