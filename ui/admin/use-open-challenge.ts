import { useEffect, useState } from 'preact/hooks'

const PREFIX = '#challenge/'

/** The challenge whose details are open: it is in the address, so that it can be bookmarked and sent to a colleague. */
export function useOpenChallenge(): [string | undefined, (id: string | undefined) => void] {
  const [open, setOpen] = useState(fromAddress)
  useEffect(() => {
    const follow = (): void => setOpen(fromAddress())
    addEventListener('hashchange', follow)
    return () => removeEventListener('hashchange', follow)
  }, [])
  const go = (id: string | undefined): void => {
    if (id !== undefined) location.hash = PREFIX + encodeURIComponent(id)
    else history.replaceState(null, '', location.pathname + location.search)
    setOpen(id)
  }
  return [open, go]
}

function fromAddress(): string | undefined {
  return location.hash.startsWith(PREFIX) ? decodeURIComponent(location.hash.slice(PREFIX.length)) : undefined
}
