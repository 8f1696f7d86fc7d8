/** `/robots.txt`: what is for reading may be read; what costs or changes something is not for crawlers. */
export function robotsTxt(documents: readonly string[]): string {
  const lines = ['User-agent: *', ...documents.map((path) => `Allow: ${path}`), 'Disallow: /x402/', '']
  return lines.join('\n')
}
