import { ConfigError } from '../../errors.ts'

/** The prefix of all keys of a gateway. The text in braces decides the cluster slot, so all keys are in the same one. */
export function gatewayTag(gateway = 'default'): string {
  if (!/^[\w.-]{1,64}$/.test(gateway)) {
    throw new ConfigError([
      `The gateway's name in Redis is ${JSON.stringify(gateway)}; use 1 to 64 letters, digits, "_", "-" and ".".`,
    ])
  }
  return `{svc:${gateway}}`
}
