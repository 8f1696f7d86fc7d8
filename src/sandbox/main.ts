import { runSandbox } from './run-sandbox.ts'
import { NPM_SCRIPTS } from './sandbox-commands.ts'

/** The program of `npm start` and `npm run buy`. */
runSandbox(process.argv.slice(2), NPM_SCRIPTS).catch((cause: unknown) => {
  console.error(cause instanceof Error ? cause.message : cause)
  process.exit(1)
})
