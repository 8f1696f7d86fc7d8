import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { blocksOf, patternOf } from './documented-commands.ts'
import { type InstalledPackage, installPackage } from './installed-package.ts'
import { eventually, freePort } from './world.ts'

let installed: InstalledPackage
beforeAll(async () => {
  installed = await installPackage()
})
afterAll(() => installed.remove())

/** One shell in which the lines of the page are typed, as its reader does. */
function openShell(cwd: string) {
  const env = { PATH: installed.path, HOME: installed.folder, npm_config_loglevel: 'error' }
  const shell = spawn('bash', ['-m'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
  // One pipe for both, so that lines are read in the order in which they were written.
  shell.stdin.write('exec 2>&1\n')
  let output = ''
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  return {
    output: () => output,
    /** Resolves when the shell is ready for the next line; what a background program says may come later. */
    async type(line: string) {
      output = ''
      const mark = `done-${Math.random()}`
      shell.stdin.write(`${line}\necho "${mark} $?"\n`)
      await eventually(() => output.includes(mark))
      const [, code] = new RegExp(`${mark} (\\d+)`).exec(output)!
      expect({ line, code, output }).toMatchObject({ code: '0' })
    },
    async close() {
      const gone = new Promise((end) => shell.once('exit', end))
      shell.stdin.end('kill $(jobs -p) 2>/dev/null\n')
      await gone
    },
  }
}

test('the tutorial, typed line by line in an empty folder, ends with a sale', async () => {
  const ports = { '3000': await freePort(), '8545': await freePort() }
  const own = (text: string) => text.replace(/\b(3000|8545)\b/g, (port) => `${ports[port as '3000']}`)
  const shell = openShell(installed.folder)
  let ran = 0
  try {
    for (const { language, text, file } of blocksOf('tutorial.md')) {
      if (language === 'js') writeFileSync(join(installed.folder, 'my-shop', file!), own(text))
      if (language === 'text')
        await expect.poll(shell.output, { timeout: 60_000 }).toMatch(patternOf(own(text)))
      if (language !== 'sh') continue
      for (const line of text.trim().split('\n')) {
        ran++
        const [, names] = /^npm install (.*)$/.exec(line) ?? []
        if (names !== undefined) install(names.split(' '))
        else await shell.type(own(line))
      }
    }
  } finally {
    await shell.close()
  }
  expect(ran).toBe(11)
}, 240_000)

/** The packages are above the shop's folder, where Node finds them too. The chain is on the PATH of the tests. */
function install(words: string[]): void {
  mkdirSync(join(installed.folder, 'my-shop', 'node_modules'), { recursive: true })
  for (const name of words.filter((word) => !word.startsWith('-') && !word.startsWith('@foundry-rs/'))) {
    if (name !== 'paystile') installed.add(name)
  }
}
