/** The body as text; `undefined` if it is longer than allowed, and then the rest is not downloaded. */
export async function readCapped(response: Response, maxBytes: number): Promise<string | undefined> {
  if (!response.body) return ''
  const reader = response.body.getReader()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const { done, value } = (await reader.read()) as { done: boolean; value?: Uint8Array }
    if (done || !value) return Buffer.concat(chunks).toString('utf8')
    bytes += value.byteLength
    if (bytes > maxBytes) {
      await reader.cancel()
      return undefined
    }
    chunks.push(value)
  }
}
