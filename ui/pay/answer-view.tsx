import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import type { Answer } from './read-answer.ts'

const SHOWN_CHARACTERS = 200_000

/**
 * What was bought. It comes from the seller's backend, whose scripts have no business in this origin: text is shown as text,
 * a document in a frame without scripts and without an origin, and a saved file has a type that no browser runs.
 */
export function AnswerView({ answer }: { answer: Answer }): JSX.Element {
  const { blob, type, text, fileName } = answer
  const file = useObjectUrl(blob, 'application/octet-stream')
  return (
    <>
      <Content answer={answer} />
      <p class="row">
        <a class="button" href={file} download={fileName}>
          Save as {fileName}
        </a>
        <span class="soft small">
          {type || 'unknown type'}, {blob.size.toLocaleString('en-US')} bytes
        </span>
      </p>
      {text !== undefined && text.length > SHOWN_CHARACTERS && (
        <p class="soft small">Only the beginning is shown; the file has all of it.</p>
      )}
    </>
  )
}

function Content({ answer: { blob, type, text, status } }: { answer: Answer }): JSX.Element {
  const picture = useObjectUrl(blob, type)
  if (type === 'text/html' && text !== undefined) {
    return <iframe title="The answer" sandbox="" srcdoc={text} />
  }
  if (/^image\/(png|jpeg|gif|webp|avif|svg\+xml)$/.test(type)) {
    return <img class="shown" src={picture} alt="The answer" />
  }
  if (blob.size === 0) return <p>The answer is empty (status {status}).</p>
  if (text === undefined) return <p>The answer is a file that cannot be shown here.</p>
  return (
    <section aria-label="The answer">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: A text that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{text.slice(0, SHOWN_CHARACTERS)}</pre>
    </section>
  )
}

function useObjectUrl(blob: Blob, type: string): string {
  const url = useMemo(() => URL.createObjectURL(new Blob([blob], { type })), [blob, type])
  useEffect(() => () => URL.revokeObjectURL(url), [url])
  return url
}
