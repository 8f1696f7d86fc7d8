import type { JSX } from 'preact'
import { Icon } from '../shared/icons.tsx'
import { SECTIONS, type SectionStatus, statusOf } from './section-list.ts'
import { useSetupContext } from './use-setup.ts'

const WORDS: Record<SectionStatus, string> = {
  error: 'needs a correction',
  missing: 'something is missing',
  warn: 'has a warning',
  fine: '',
}

export function SectionNav(): JSX.Element {
  const setup = useSetupContext()
  return (
    <nav class="section-nav" aria-label="Sections">
      <ol>
        {SECTIONS.map(({ id, title }) => {
          const status = statusOf(id, setup)
          return (
            <li key={id}>
              <a href={`#${id}`}>
                {title}
                {status !== 'fine' && (
                  <span class={`nav-status ${status}`} title={WORDS[status]}>
                    {status === 'missing' ? <span class="dot" aria-hidden="true" /> : <Icon name={status} />}
                    <span class="off-screen"> ({WORDS[status]})</span>
                  </span>
                )}
              </a>
            </li>
          )
        })}
      </ol>
    </nav>
  )
}
