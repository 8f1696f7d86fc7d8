#!/usr/bin/env node
import { runCli } from './run-cli.ts'
import { processTerminal } from './terminal.ts'

const code = await runCli(processTerminal(), process.argv.slice(2))
// A server may have set its own meanwhile, and it still runs.
if (code !== 0) process.exitCode = code
