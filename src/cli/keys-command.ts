import { defineCommand } from 'citty'
import { json, type Run } from './command-args.ts'
import type { Terminal } from './terminal.ts'

/** `paystile keys`. */
export function keysCommand(terminal: Terminal, run: Run) {
  const list = defineCommand({
    meta: {
      name: 'list',
      description: 'secrets that can be rotated: where they are set, and ids of their keys',
    },
    args: { json },
    run: ({ args }) => run(args.json, async () => (await import('./keys.ts')).listKeys(terminal)),
  })
  const rotate = defineCommand({
    meta: { name: 'rotate', description: 'make a new key; older ones stay for what was made before' },
    args: {
      name: { type: 'positional', required: true, description: 'as in the list, for example SVC_SECRET_KEY' },
      out: { type: 'string', description: 'write the value to set into a new file', valueHint: 'file' },
      print: { type: 'boolean', description: 'show the value to set, and write nothing' },
      json,
    },
    run: ({ args }) =>
      run(args.json, async () => {
        const { name, out, print } = args
        return (await import('./keys.ts')).rotateKey(terminal, { name, out, print: print === true })
      }),
  })
  return defineCommand({
    meta: { name: 'keys', description: 'list keys, or put a new one in front of the old' },
    subCommands: { list, rotate },
  })
}
