/**
 * The cookie of the operator's session on the standalone server. It is only for the operator's browser and that
 * server: a backend neither gets it nor can set it.
 */
export const OPERATOR_COOKIE = 'svc_admin'

/** Browsers send a cookie without a name as its bare value, so `=svc_admin=x` sets ours as well. */
const OWN = new RegExp(`^[\\s=]*${OPERATOR_COOKIE}\\s*(=|;|$)`, 'i')

/** Every value of it in a `cookie` header; pages on other paths or ports of this host may have added some. */
export function operatorCookies(header: string | null): string[] {
  return (header ?? '').split(';').flatMap((part) => {
    const [name, value] = part.trim().split('=')
    return name === OPERATOR_COOKIE && value ? [value] : []
  })
}

/** A `cookie` header as a backend may see it; undefined if nothing is left. */
export function withoutOperatorCookie(header: string): string | undefined {
  const others = header.split(';').filter((part) => !OWN.test(part))
  const text = others.join(';').trim()
  return text === '' ? undefined : text
}

/** Whether this `set-cookie` would replace the operator's. */
export function setsOperatorCookie(setCookie: string): boolean {
  return OWN.test(setCookie)
}
