import type { ComponentChildren, JSX } from 'preact'
import { SECTIONS, type SectionId } from '../section-list.ts'

export function Section({
  id,
  intro,
  children,
}: {
  id: SectionId
  intro: ComponentChildren
  children: ComponentChildren
}): JSX.Element {
  const title = SECTIONS.find((section) => section.id === id)?.title
  return (
    <section class="card setup-section" id={id} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`} tabIndex={-1}>
        {title}
      </h2>
      <p class="section-intro">{intro}</p>
      {children}
    </section>
  )
}
