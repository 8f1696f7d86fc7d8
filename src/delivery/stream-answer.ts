import type { AnswerStream } from '../ports.ts'

interface Head {
  status: number
  /** Those that buyers get. */
  headers: Array<[string, string]>
  encoding?: string | undefined
}

/**
 * Lets an answer out as it comes, if it is an event stream that counts as delivered. Compressed ones wait, because they
 * are stored as plain bytes and buyers must get the same twice. Returns who takes the body.
 */
export function letOut(
  stream: AnswerStream | undefined,
  challengeId: string,
  { status, headers, encoding = '' }: Head,
): ((chunk: Uint8Array) => void) | undefined {
  const isGood = status >= 200 && status <= 299
  const isPlain = encoding === '' || encoding === 'identity'
  if (!stream || !isGood || !isPlain || !isEventStream(headers)) return undefined
  stream.begin(challengeId, { status, headers })
  return (chunk) => stream.write(chunk)
}

export function isEventStream(headers: ReadonlyArray<readonly [string, string]>): boolean {
  const type = headers.find(([name]) => name === 'content-type')?.[1]
  return type !== undefined && /^\s*text\/event-stream\s*(;|$)/i.test(type)
}

/** The JSON documents in an event stream's data, in their order. */
export function* eventsOf(body: string): Generator<unknown> {
  for (const event of body.split(/\r\n\r\n|\n\n|\r\r/)) {
    const data = event
      .split(/\r\n|\n|\r/)
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(line[5] === ' ' ? 6 : 5))
      .join('\n')
    try {
      if (data !== '') yield JSON.parse(data)
    } catch {
      // Not every event is JSON: many streams end with "[DONE]".
    }
  }
}
