import type { JSX } from 'preact'

const TOKENS = /("(?:\\.|[^"\\])*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?/g

/** JSON with coloured keys and values. */
export function Json({ value }: { value: unknown }): JSX.Element {
  const text = JSON.stringify(value, null, 2)
  const parts: Array<JSX.Element | string> = []
  let end = 0
  for (const match of text.matchAll(TOKENS)) {
    parts.push(text.slice(end, match.index))
    const kind = match[2] !== undefined ? 'key' : match[1] !== undefined ? 'text' : 'plain'
    parts.push(<span class={`json-${kind}`}>{match[1] ?? match[0]}</span>, match[2] ?? '')
    end = match.index + match[0].length
  }
  return (
    <code>
      {parts}
      {text.slice(end)}
    </code>
  )
}
