import { spawn } from 'node:child_process'

/** Runs a program to its end and returns what it wrote. A program that cannot be started has exit code 127. */
export function runProgram(
  command: string,
  args: readonly string[],
  { cwd, show = false }: { cwd?: string /** Its output goes to the terminal. */; show?: boolean } = {},
): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      ...(cwd !== undefined && { cwd }),
      stdio: show ? 'inherit' : ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    child.once('error', (cause) => resolve({ code: 127, output: cause.message }))
    child.once('close', (code) => resolve({ code: code ?? 1, output }))
  })
}

/** Runs npm: the one that runs us, if npm does. */
export function runNpm(args: readonly string[], options?: Parameters<typeof runProgram>[2]) {
  const own = process.env.npm_execpath
  if (own?.endsWith('npm-cli.js')) return runProgram(process.execPath, [own, ...args], options)
  return runProgram(process.platform === 'win32' ? 'npm.cmd' : 'npm', args, options)
}
