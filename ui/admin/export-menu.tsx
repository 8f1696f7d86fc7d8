import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, addressOf, checkSession } from '../shared/api.ts'
import { Icon } from '../shared/icons.tsx'

/** When this day is over: the API leaves out what happens at `to` or later. */
function dayAfter(day: string): Date {
  const end = new Date(`${day}T00:00:00`)
  end.setDate(end.getDate() + 1)
  return end
}

/** Saves what the address answers. A download shows no answer, so without a session it would be a file that never comes. */
async function download(address: string): Promise<void> {
  if (!(await checkSession())) return
  const link = document.createElement('a')
  link.href = address
  // Empty: under the name that the server gives it.
  link.download = ''
  link.click()
}

/** Downloads every sale as a file; days are in the time zone of the browser. */
export function ExportMenu(): JSX.Element {
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [fault, setFault] = useState('')
  const menu = useRef<HTMLDetailsElement>(null)
  useEffect(() => {
    const close = (event: Event): void => {
      const isEscape = event instanceof KeyboardEvent && event.key === 'Escape'
      const isOutside = event.type === 'pointerdown' && !menu.current?.contains(event.target as Node)
      if (menu.current?.open && (isEscape || isOutside)) menu.current.open = false
    }
    document.addEventListener('pointerdown', close)
    document.addEventListener('keydown', close)
    return () => {
      document.removeEventListener('pointerdown', close)
      document.removeEventListener('keydown', close)
    }
  }, [])
  const href = (format: string, of = 'sales'): string => {
    const query = new URLSearchParams({ of, format })
    if (from !== '') query.set('from', new Date(`${from}T00:00:00`).toISOString())
    if (to !== '') query.set('to', dayAfter(to).toISOString())
    return addressOf(`/admin/api/export?${query}`)
  }
  const isBackward = from !== '' && to !== '' && to < from
  const shownFault = isBackward ? 'Until is before From.' : fault
  const links = [
    { name: 'CSV', address: href('csv') },
    { name: 'JSONL', address: href('jsonl') },
    { name: 'Credits', address: href('csv', 'credits') },
  ]
  return (
    <details class="menu" ref={menu}>
      <summary class="button">
        <Icon name="download" />
        Export
      </summary>
      <div class="menu-body card">
        <p class="hint">
          Every paid sale with payer, amount and hashes. Days are those of your time zone; empty dates mean
          everything.
        </p>
        <div class="date-range">
          <div class="field">
            <label for="export-from">From</label>
            <input
              id="export-from"
              type="date"
              value={from}
              onInput={(event) => setFrom(event.currentTarget.value)}
            />
          </div>
          <div class="field">
            <label for="export-to">Until</label>
            <input
              id="export-to"
              type="date"
              value={to}
              onInput={(event) => setTo(event.currentTarget.value)}
            />
          </div>
        </div>
        {shownFault !== '' && (
          <p class="field-message error" role="alert">
            {shownFault}
          </p>
        )}
        <div class="buttons">
          {links.map(({ name, address }) =>
            isBackward ? (
              <button type="button" class="button" key={name} disabled>
                {name}
              </button>
            ) : (
              <a
                class="button"
                key={name}
                href={address}
                download=""
                onClick={(event) => {
                  event.preventDefault()
                  setFault('')
                  download(address).catch((error: unknown) => {
                    setFault(error instanceof ApiError ? error.message : String(error))
                  })
                }}
              >
                {name}
              </a>
            ),
          )}
        </div>
      </div>
    </details>
  )
}
