import type { ComponentChildren, JSX } from 'preact'
import { basePath, isEmbedded } from './api.ts'
import type { Frame } from './app-frame.tsx'
import { Brand, Icon } from './icons.tsx'

/** The bar above both pages. `children` are shown before the logout. */
export function Header({
  frame,
  here,
  children,
}: {
  frame: Frame
  here: 'setup' | 'admin'
  children?: ComponentChildren
}): JSX.Element {
  const { session, logOut } = frame
  const link = (page: 'setup' | 'admin', text: string): JSX.Element => (
    <a href={`${basePath}/${page}`} {...(page === here && { 'aria-current': 'page' as const })}>
      {text}
    </a>
  )
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <header class="topbar">
        <Brand />
        {!isEmbedded && (
          <nav aria-label="Pages">
            {session.configured && link('admin', 'Dashboard')}
            {link('setup', 'Setup')}
          </nav>
        )}
        <div class="topbar-end">
          {children}
          <button type="button" class="button quiet log-out" onClick={logOut}>
            <Icon name="leave" />
            <span class="wide-word">Log out</span>
          </button>
        </div>
      </header>
    </>
  )
}

/** Shows clearly whether it is real money or test money. */
export function NetworkBadge({ network, testnet }: { network: string; testnet: boolean }): JSX.Element {
  return (
    <span class={`badge ${testnet ? 'testnet' : 'mainnet'}`} title={network}>
      {testnet ? 'Testnet' : 'Mainnet'}
    </span>
  )
}
