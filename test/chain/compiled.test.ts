import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const here = (file: string) => fileURLToPath(new URL(file, import.meta.url))

// That an artifact belongs to its source as it stands is seen without the compiler, in artifact.test.ts.
test.each(['build.mjs', '../../scripts/build-settler.mjs'])(
  '%s: every artifact is what its source compiles to',
  async (program) => {
    // Rejects, with the name of the file, on any difference.
    const run = promisify(execFile)(process.execPath, [here(program), '--check'])
    await expect(run).resolves.toBeDefined()
  },
)
