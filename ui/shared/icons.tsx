import type { JSX } from 'preact'

const PATHS = {
  ok: 'M4 10.5l4 4 8-9',
  warn: 'M10 3.2l7.6 13.3H2.4zM10 8.2v3.6M10 14.2v.1',
  error: 'M10 2.8a7.2 7.2 0 100 14.4 7.2 7.2 0 000-14.4zM10 6.4v4.4M10 13.6v.1',
  lock: 'M5 9.2h10v7.3H5zM7 9.2V6.8a3 3 0 016 0v2.4',
  plus: 'M10 4v12M4 10h12',
  trash: 'M4 6h12M8 6V4.2h4V6M5.8 6l.7 10.2h7L14.2 6M8.6 9v4.4M11.4 9v4.4',
  copy: 'M7.5 7.5h9v9h-9zM4.5 12.5h-1v-9h9v1',
  external: 'M8 5H4.5v10.5H15V12M11 4h5v5M16 4l-7 7',
  close: 'M5 5l10 10M15 5L5 15',
  search: 'M9 3.8a5.2 5.2 0 100 10.4A5.2 5.2 0 009 3.8zM13 13l3.6 3.6',
  download: 'M10 3.5v9M6.2 9l3.8 3.8L13.8 9M4 16.5h12',
  leave: 'M12 3.5H4.5v13H12M8.5 10h8M13.5 6.8l3.2 3.2-3.2 3.2',
  key: 'M12.8 3.5a3.7 3.7 0 100 7.4 3.7 3.7 0 000-7.4zM10.2 9.8L3.5 16.5M5.5 14.5l2 2',
} as const

export type IconName = keyof typeof PATHS

/** Decoration only; the text beside it has the meaning. */
export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}

export function Brand(): JSX.Element {
  return (
    <span class="brand">
      <svg class="brand-mark" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
        <rect width="32" height="32" rx="8" />
        <path d="M10 7v18M10 16h13M10 16l9-8M10 16l9 8" />
      </svg>
      paystile
    </span>
  )
}
