import type { Check } from './run-checks.ts'

const name = 'SHOP_LOGO_URL'
/** Every visitor loads it. */
const MAX_BYTES = 1_048_576

/** Is there an image? Without one the pages for people show the seller's name alone, so nothing here is an error. */
export function checkLogo(url: string): Check {
  const asks = `the logo at ${new URL(url).host}`
  const fix = 'Give the address of a PNG, SVG, JPEG or WebP file that everybody can load.'
  return {
    name,
    asks,
    fix,
    silence: 'warn',
    async run(limitMs) {
      const { status, headers, body } = await fetch(url, { signal: AbortSignal.timeout(limitMs) })
      await body?.cancel()
      const warn = (message: string) => [{ name, level: 'warn' as const, message: `${asks} ${message}`, fix }]
      if (status !== 200) return warn(`answers HTTP ${status} instead of an image`)
      const type = headers.get('content-type')?.split(';')[0]?.trim() || 'nothing that says what it is'
      if (!type.startsWith('image/')) return warn(`is no image: it is ${type}`)
      const bytes = Number(headers.get('content-length') ?? 0)
      if (bytes > MAX_BYTES)
        return warn(`has ${(bytes / MAX_BYTES).toFixed(1)} MiB; make it smaller than 1 MiB`)
      return [{ name, level: 'ok', message: `${asks} is an image (${type})` }]
    },
  }
}
