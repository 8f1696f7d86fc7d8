import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { CopyButton } from '../shared/copy-button.tsx'
import { useSetupContext } from './use-setup.ts'

const TABS = [
  { id: 'env', title: '.env' },
  { id: 'dockerRun', title: 'docker run' },
  { id: 'compose', title: 'compose.yaml' },
] as const
type Tab = (typeof TABS)[number]['id']

/** The same configuration for people who prefer to keep it in files. */
export function Snippets(): JSX.Element {
  const { answer } = useSetupContext()
  const [tab, setTab] = useState<Tab>('env')
  const list = useRef<HTMLDivElement>(null)
  const text = answer?.snippets[tab] ?? ''
  const title = TABS.find(({ id }) => id === tab)?.title ?? ''

  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    const index = (TABS.findIndex(({ id }) => id === tab) + step + TABS.length) % TABS.length
    setTab(TABS[index]?.id ?? 'env')
    list.current?.querySelectorAll('button')[index]?.focus()
  }
  return (
    <section class="card snippets" aria-labelledby="snippets-title">
      <div class="card-head">
        <h2 id="snippets-title">The same as a file</h2>
        <CopyButton text={text} label={title} />
      </div>
      <div class="tabs" role="tablist" aria-label="Format" ref={list} onKeyDown={move}>
        {TABS.map(({ id, title: name }) => (
          <button
            key={id}
            type="button"
            role="tab"
            id={`tab-${id}`}
            aria-selected={tab === id}
            aria-controls="snippet"
            tabIndex={tab === id ? 0 : -1}
            onClick={() => setTab(id)}
          >
            {name}
          </button>
        ))}
      </div>
      <div id="snippet" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard. */}
        <pre class="code" tabIndex={0}>
          <code>{text}</code>
        </pre>
      </div>
      <p class="hint">Secrets are left out: put each one into a file and name it in NAME_FILE.</p>
    </section>
  )
}
