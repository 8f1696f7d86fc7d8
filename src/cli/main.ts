#!/usr/bin/env node
import { VERSION } from '../gateway.ts'
import { reportingFaults, runServe } from './serve.ts'

const HELP = `paystile ${VERSION}: sells access to any API, to autonomous agents, for USDC.

  paystile serve      the standalone server, configured by environment variables (docs/configuration.md)
  paystile migrate    brings the tables of DATABASE_URL up to date (serve does it by itself)
  paystile --version
`

const [command] = process.argv.slice(2)
switch (command) {
  case 'serve':
    await runServe()
    break
  case 'migrate':
    await reportingFaults(async () => {
      await (await import('../server/migrate.ts')).migrate(process.env)
      console.log('The tables are up to date.')
    })
    break
  case '--version':
    console.log(VERSION)
    break
  case undefined:
  case 'help':
  case '--help':
    console.log(HELP)
    break
  default:
    console.error(`There is no command ${JSON.stringify(command)}.\n\n${HELP}`)
    process.exitCode = 1
}
