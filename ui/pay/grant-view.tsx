import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { AccessGrant } from '../../src/protocol/access.ts'

/** What a plan gave: a token, which is shown once and kept nowhere in this browser. */
export function GrantView({ grant }: { grant: AccessGrant }): JSX.Element {
  const { accessToken, resourceEndpoint, planId, expiresAt } = grant
  const call = `curl ${quoted(resourceEndpoint)} -H "authorization: Bearer $TOKEN"`
  return (
    <section aria-label="What you bought">
      <p>
        Your token for <strong>{planId}</strong>
        {expiresAt !== undefined && (
          <>
            , valid until{' '}
            {new Date(expiresAt).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'short' })}
          </>
        )}
        . Whoever has it has what you bought.
      </p>
      <Copied title="The token" text={accessToken} />
      <div class="note wait">
        <p>Copy it now: this page shows it once and does not keep it.</p>
      </div>
      <h3>How to use it</h3>
      <p class="soft small">With the token in the variable TOKEN:</p>
      <Copied title="The command" text={call} />
    </section>
  )
}

function Copied({ title, text }: { title: string; text: string }): JSX.Element {
  const [said, say] = useState('Copy')
  const copy = async (box: ParentNode | null): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
      say('Copied')
    } catch {
      // On plain http the clipboard is closed; what is selected can still be copied by hand.
      const shown = box?.querySelector('pre')
      if (shown) getSelection()?.selectAllChildren(shown)
      say('Selected')
    }
    setTimeout(() => say('Copy'), 2000)
  }
  return (
    <div class="copied">
      <button
        type="button"
        class="tiny"
        aria-label={`${said}: ${title}`}
        onClick={(event) => void copy(event.currentTarget.parentNode)}
      >
        {said}
      </button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: A text that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  )
}

/** For a shell, whatever the text holds. */
const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
