import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'

/** The file of a long run: its plan on the first line, then a line per part that was played. A run that was cut off goes on from it. */
export interface RunFile<Plan, Done> {
  plan: Plan | undefined
  done: Done[]
  begin(plan: Plan): void
  add(done: Done): void
}

export function openRunFile<Plan, Done>(file: string): RunFile<Plan, Done> {
  // A line that was cut off while it was written is played again.
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : []
  const [first, ...rest] = lines
  if (lines.length > 0) writeFileSync(file, `${lines.join('\n')}\n`)
  const run: RunFile<Plan, Done> = {
    plan: first === undefined ? undefined : JSON.parse(first),
    done: rest.map((line) => JSON.parse(line)),
    begin(plan) {
      run.plan = plan
      writeFileSync(file, `${JSON.stringify(plan)}\n`)
    },
    add(done) {
      run.done.push(done)
      appendFileSync(file, `${JSON.stringify(done)}\n`)
    },
  }
  return run
}
