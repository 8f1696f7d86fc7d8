import { spawnSync } from 'node:child_process'

const program = 'import Cryptodome, ecdsa, sys; print(sys.executable)'

/** The path of a Python that has the packages of docs/python.md: that of the PATH, or that of the system; undefined if neither has. */
export function findPython() {
  for (const python of ['python3', '/usr/bin/python3']) {
    const { status, stdout } = spawnSync(python, ['-c', program], { encoding: 'utf8' })
    if (status === 0) return stdout.trim()
  }
}
