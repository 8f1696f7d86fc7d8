#!/usr/bin/env node
import { runCli } from './run-cli.ts'
import { processTerminal } from './terminal.ts'

await runCli(processTerminal(), process.argv.slice(2))
