#!/usr/bin/env node
import { runCli } from './run-cli.ts'
import { processTerminal } from './terminal.ts'

// Whoever reads has seen enough, as in `paystile export | head`.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

const code = await runCli(processTerminal(), process.argv.slice(2))
// A server may have set its own meanwhile, and it still runs.
if (code !== 0) process.exitCode = code
