import { kindOf, type OptionReader } from './option-reader.ts'
import type { GatewayOptions } from './options.ts'
import type { AgentConfig } from './resolved-config.ts'

/** Reads the options of what agents use besides plain HTTP: A2A, MCP, the documents, and who runs the gateway. */
export function readAgents(reader: OptionReader): AgentConfig {
  const a2a = readSwitch(reader, 'a2a', { streaming: false, transferProofs: true }, true)
  const mcp = readSwitch(reader, 'mcp', { routes: false }, false)
  return {
    a2a,
    mcp,
    documents: reader.value('documents') === undefined || reader.flag('documents'),
    agentVersion: reader.text('agentVersion')?.trim() ?? '1.0.0',
    provider: readProvider(reader),
    contactEmail: readContact(reader),
  }
}

/** Reads `true`, `false` or an object of flags, each with a default; null means off. */
function readSwitch<F extends Record<string, boolean>>(
  reader: OptionReader,
  option: 'a2a' | 'mcp',
  standard: F,
  on: boolean,
): F | null {
  const value: unknown = reader.value(option) ?? on
  if (typeof value === 'boolean') return value ? standard : null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const flags = Object.keys(standard).join(', ')
    reader.fault(
      option,
      `is ${kindOf(value)}; it must be true, false, or an object with ${flags}, for example ${reader.example(option, true)}`,
    )
    return null
  }
  const { enabled, ...flags } = value as Record<string, unknown>
  for (const [name, flag] of Object.entries(flags)) {
    if (!Object.hasOwn(standard, name)) {
      reader.faults.push(
        `${option}.${name} is not an option; ${option} has ${Object.keys(standard).join(', ')}.`,
      )
    } else if (typeof flag !== 'boolean') {
      const label = `${option}.${name}` as 'a2a.streaming'
      const example = reader.example(label, true)
      reader.fault(label, `is ${kindOf(flag)}; it must be true or false, for example ${example}`)
    }
  }
  // An object of flags switches the transport on, unless it has `enabled: false`. Variables always arrive as such an object,
  // so of those only a flag that is true switches it on.
  const wanted = on || reader.label(option) === option || Object.values(flags).includes(true)
  return (enabled ?? wanted) === false ? null : ({ ...standard, ...flags } as F)
}

/** Directories write to it, or reject it: what can be seen to be no address is refused here. */
function readContact(reader: OptionReader): string | null {
  const email = reader.text('contactEmail')?.trim()
  if (email === undefined) return null
  if (email.length <= 254 && /^[^\s@<>"',;:]+@[^\s@<>"',;:.]+(\.[^\s@<>"',;:.]+)+$/.test(email)) return email
  const example = reader.example('contactEmail', 'support@example.com')
  reader.fault('contactEmail', `is not an email address, for example ${example}`)
  return null
}

function readProvider(reader: OptionReader): AgentConfig['provider'] {
  const value: unknown = reader.value('provider')
  if (value === undefined) return null
  const { organization, url } = (typeof value === 'object' && value !== null ? value : {}) as NonNullable<
    GatewayOptions['provider']
  >
  if (typeof organization !== 'string' || typeof url !== 'string' || !URL.canParse(url)) {
    const good = `${reader.label('provider')} ${reader.label('provider.url')}`
    reader.faults.push(
      good === 'provider provider.url'
        ? 'provider must be { organization, url }, for example { organization: "ACME", url: "https://acme.example" }'
        : `${reader.label('provider')} and ${reader.label('provider.url')} go together: a name, and a URL such as https://acme.example`,
    )
    return null
  }
  return { organization, url }
}
