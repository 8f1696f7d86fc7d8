import type { ComponentChildren, JSX } from 'preact'
import { Icon } from './icons.tsx'
import type { Level } from './wire.ts'

/** A message in a box; screen readers read errors at once. */
export function Notice({
  level,
  title,
  children,
}: {
  level: Level
  title: string
  children?: ComponentChildren
}): JSX.Element {
  return (
    <div class={`notice ${level}`} role={level === 'error' ? 'alert' : 'status'}>
      <Icon name={level} />
      <div>
        <p class="notice-title">{title}</p>
        {children}
      </div>
    </div>
  )
}
