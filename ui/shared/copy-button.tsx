import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Icon } from './icons.tsx'

/** Copies a text and says so for a moment. Without access to the clipboard (plain http) it says so. */
export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element {
  const [said, say] = useState('')
  useEffect(() => {
    if (said === '') return
    const timer = setTimeout(() => say(''), 2000)
    return () => clearTimeout(timer)
  }, [said])
  const copy = async (): Promise<void> => {
    say((await copyText(text)) ? 'Copied' : 'Press Ctrl+C')
  }
  return (
    <button type="button" class="button quiet copy" aria-label={`Copy ${label}`} onClick={() => void copy()}>
      <Icon name={said === 'Copied' ? 'ok' : 'copy'} />
      <span aria-live="polite">{said || 'Copy'}</span>
    </button>
  )
}

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** Browsers allow the clipboard on https only; servers in a local network often use http. */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'off-screen'
  document.body.append(area)
  area.select()
  const done = document.execCommand('copy')
  area.remove()
  return done
}
