import type { DiscoveryCatalog } from '../../protocol/catalog.ts'

/** A turnstile, for the lists of directories: a seller's own is a route of that path. */
export const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#0b5fff"/><path d="M16 5v22M16 11l9-4M16 17h10M16 23l9 4" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>'

/** Where the icon is looked for, unless the seller sells or forwards that path. */
export function iconPaths({ routes }: Pick<DiscoveryCatalog, 'routes'>): string[] {
  return ['/favicon.ico', '/favicon.svg'].filter((icon) => !routes.some(({ path }) => path === icon))
}
