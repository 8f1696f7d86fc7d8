import { defineCommand } from 'citty'
import { json, type Run } from './command-args.ts'
import type { Terminal } from './terminal.ts'

/** `paystile backup` and `paystile restore`. */
export function backupCommands(terminal: Terminal, run: Run) {
  const backup = defineCommand({
    meta: {
      name: 'backup',
      description: 'copy the embedded store and its keys into one file, also while it sells',
    },
    args: {
      file: { type: 'positional', required: true, description: 'the file to write; it must not exist' },
      'without-secrets': { type: 'boolean', description: 'leave out secret-key and config.json' },
      json,
    },
    run: ({ args }) =>
      run(args.json, async () => {
        const { json: asJson, file } = args
        const withoutSecrets = args['without-secrets'] === true
        return (await import('./backup.ts')).backUp(terminal, { json: asJson === true, file, withoutSecrets })
      }),
  })
  const restore = defineCommand({
    meta: { name: 'restore', description: 'put a backup into DATA_DIR; the server must be stopped' },
    args: {
      file: { type: 'positional', required: true, description: 'a file of paystile backup' },
      force: {
        type: 'boolean',
        description: 'replace the store that is there, and keep it beside the restored one',
      },
      'with-config': { type: 'boolean', description: 'replace config.json too' },
      json,
    },
    run: ({ args }) =>
      run(args.json, async () => {
        const { json: asJson, file, force } = args
        return (await import('./backup-restore.ts')).restore(terminal, {
          json: asJson === true,
          file,
          force: force === true,
          withConfig: args['with-config'] === true,
        })
      }),
  })
  return { backup, restore }
}
