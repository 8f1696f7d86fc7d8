import { cpus } from 'node:os'

/** What everything on this machine has used, whoever started it. */
export function machineCpuMs(): number {
  return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0)
}
