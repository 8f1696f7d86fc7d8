import { kindOf, type OptionReader } from './option-reader.ts'
import type { ShopWindowConfig } from './resolved-config.ts'
import { urlFault } from './url-fault.ts'

const MEMBERS = ['name', 'logoUrl', 'color'] as const
type Member = (typeof MEMBERS)[number]

/** Reads the options of the pages for people: `true`, `false`, or how the seller is shown on them. Null means off. */
export function readShopWindow(reader: OptionReader, agentName: string): ShopWindowConfig | null {
  const value: unknown = reader.value('shopWindow') ?? true
  const plain: ShopWindowConfig = { name: agentName, logoUrl: null, color: null }
  if (typeof value === 'boolean') return value ? plain : null
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    const members = MEMBERS.join(', ')
    reader.fault(
      'shopWindow',
      `is ${kindOf(value)}; it must be true, false, or an object with ${members}, for example ${reader.example('shopWindow', true)}`,
    )
    return null
  }
  const { enabled, ...given } = value as Record<string, unknown>
  for (const name of Object.keys(given)) {
    if ((MEMBERS as readonly string[]).includes(name)) continue
    reader.faults.push(`shopWindow.${name} is not an option; shopWindow has ${MEMBERS.join(', ')}.`)
  }
  const shown: ShopWindowConfig = {
    name: textOf(reader, given, 'name', nameFault, 'Acme Weather') ?? agentName,
    logoUrl: textOf(reader, given, 'logoUrl', logoFault, 'https://acme.example/logo.svg') ?? null,
    color: textOf(reader, given, 'color', colorFault, '#0b57b0')?.toLowerCase() ?? null,
  }
  return enabled === false ? null : shown
}

function textOf(
  reader: OptionReader,
  given: Record<string, unknown>,
  member: Member,
  faultOf: (text: string) => string | undefined,
  example: string,
): string | undefined {
  const value = given[member]
  const label = `shopWindow.${member}` as const
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') {
    reader.fault(
      label,
      `is ${kindOf(value)}; it must be a text, for example ${reader.example(label, example)}`,
    )
    return undefined
  }
  const text = value.trim()
  const fault = faultOf(text)
  if (fault === undefined) return text
  reader.fault(label, `${fault}, for example ${reader.example(label, example)}`)
  return undefined
}

function nameFault(name: string): string | undefined {
  if (/[<>]/.test(name)) return 'has HTML in it; give the name as plain text'
  if (/\p{Cc}/u.test(name)) return 'has a line break or another control character; give the name in one line'
  return name.length > 80 ? `has ${name.length} characters; give a name of at most 80` : undefined
}

/** An https address, or a path on this host. Anything else would not be loaded by a page that came by https. */
function logoFault(logo: string): string | undefined {
  const wanted = 'give the https address of an image, or its path on this host'
  if (/[<>"'\s\\]/.test(logo)) return `is not the address of an image; ${wanted}`
  if (/^\/(?!\/)/.test(logo)) return undefined
  const fault = urlFault(logo)
  if (fault !== undefined) return `${fault}; ${wanted}`
  return new URL(logo).protocol === 'https:' ? undefined : `begins with http:; ${wanted}`
}

function colorFault(color: string): string | undefined {
  return /^#[0-9a-f]{6}$/i.test(color) ? undefined : 'is not a color; give # and six hexadecimal digits'
}
