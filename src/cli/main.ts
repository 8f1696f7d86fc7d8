#!/usr/bin/env node
import { runCli } from './run-cli.ts'
import { processTerminal } from './terminal.ts'

// The reader of a pipe has closed it, as in `paystile export | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

const code = await runCli(processTerminal(), process.argv.slice(2))
// `serve` may still run, and sets its own exit code.
if (code !== 0) process.exitCode = code
