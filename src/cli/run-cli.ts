import { stripVTControlCharacters } from 'node:util'
import { type ArgsDef, type CommandDef, renderUsage, runCommand } from 'citty'
import { ConfigError } from '../errors.ts'
import { didYouMean } from '../protocol/did-you-mean.ts'
import { VERSION } from '../version.ts'
import { checkFlags } from './check-flags.ts'
import { createCommands } from './commands.ts'
import { type Terminal, tell, write } from './terminal.ts'

type Commands = Record<string, CommandDef>

/** The command that these words name, the one above it, and the rest of the words. */
function find(root: CommandDef, argv: readonly string[]) {
  let command = root
  let parent: CommandDef | undefined
  let rest = argv
  for (;;) {
    const next = (command.subCommands as Commands | undefined)?.[rest[0] ?? '']
    if (!next) return { command, parent, rest }
    parent = command
    command = next
    rest = rest.slice(1)
  }
}

/** Runs one command line and returns its exit code; `serve` continues until a signal ends it. */
export async function runCli(terminal: Terminal, argv: readonly string[]): Promise<number> {
  let code = 0
  const root = createCommands(terminal, (exitCode) => {
    code = exitCode
  })
  const words = argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv
  const { command, parent, rest } = find(root, words)
  const usage = async () => {
    const text = (await renderUsage(command, parent)).replace(/ +$/gm, '')
    await write(terminal.output, `${terminal.output.isTTY ? text : stripVTControlCharacters(text)}\n`)
    return 0
  }
  if (words.length === 0 || words.some((word) => word === '--help' || word === '-h')) return usage()
  if (command === root && words.length === 1 && /^(--version|-v)$/.test(words[0]!)) {
    await write(terminal.output, `${VERSION}\n`)
    return 0
  }
  try {
    if (command.subCommands) {
      const names = Object.keys(command.subCommands)
      const path = command === root ? 'paystile' : `paystile ${words[0]}`
      const wrong =
        rest[0] === undefined ? 'A command is missing' : `There is no command ${JSON.stringify(rest[0])}`
      throw new ConfigError([
        `${wrong}${didYouMean(rest[0] ?? '', names) || '.'} ${path} has: ${names.join(', ')}.`,
      ])
    }
    checkFlags(rest, (command.args ?? {}) as ArgsDef)
    await runCommand(command, { rawArgs: [...rest] })
    return code
  } catch (error) {
    const clean =
      error instanceof ConfigError || !(error instanceof Error)
        ? error
        : new Error(stripVTControlCharacters(error.message))
    return tell(terminal, words.includes('--json'), () => Promise.reject(clean))
  }
}
