import { fileURLToPath } from 'node:url'

const BUILT = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))

/**
 * The command line, for tests that start servers again and again: `npm test` names a bundle of the same code, which starts
 * faster. That the files of the package run as they are is proven by tests that start those.
 */
export const SERVER_PROGRAM = process.env.PAYSTILE_SERVER_PROGRAM ?? BUILT
