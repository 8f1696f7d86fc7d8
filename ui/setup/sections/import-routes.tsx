import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { ApiError, post } from '../../shared/api.ts'
import { Icon } from '../../shared/icons.tsx'
import type { ImportPreview } from '../../shared/wire.ts'
import { More } from '../fields.tsx'
import { filledRoutes, type RouteRow, routeOf, routeRow } from '../form-state.ts'
import { useSetupContext } from '../use-setup.ts'
import { ImportedRoutes } from './imported-routes.tsx'

/** Fills the list of routes from an OpenAPI description; nothing is saved before the form is. */
export function ImportRoutes(): JSX.Element {
  const setup = useSetupContext()
  const [url, setUrl] = useState('')
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [told, setTold] = useState<{ error?: string; done?: string }>({})
  const [preview, setPreview] = useState<ImportPreview>()
  const file = useRef<HTMLInputElement>(null)

  async function read(source: { url: string } | { text: string; name?: string }): Promise<void> {
    setBusy(true)
    setTold({})
    setPreview(undefined)
    try {
      const routes = filledRoutes(setup.form.routes).map(routeOf)
      setPreview(await post<ImportPreview>('/setup/api/import', { ...source, routes }))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      setTold({ error: error.message })
    } finally {
      setBusy(false)
    }
  }

  function take(rows: RouteRow[], found: ImportPreview): void {
    const old = filledRoutes(setup.form.routes)
    const byId = new Map(rows.map((row) => [row.routeId, row]))
    const stay = old.map((row) => {
      const next = byId.get(row.routeId)
      return next ? { ...next, key: row.key } : row
    })
    const known = new Set(old.map(({ routeId }) => routeId))
    setup.setRoutes([...stay, ...rows.filter(({ routeId }) => !known.has(routeId))])
    const backend = setup.form.values.PROXY_TO_BASE_URL ?? ''
    if (found.backend !== null && backend.trim() === '' && !setup.isLocked('PROXY_TO_BASE_URL')) {
      setup.set('PROXY_TO_BASE_URL', found.backend)
    }
    setPreview(undefined)
    const count = rows.length === 1 ? 'One route is' : `${rows.length} routes are`
    setTold({ done: `${count} in the list. Save to sell them.` })
  }

  return (
    <More title="Import routes from an OpenAPI description">
      <p class="hint">
        OpenAPI 3.0 or 3.1, JSON or YAML, up to 2 MB. An address is read by this server, not by your browser.
      </p>
      <div class="import-source">
        <div class="cell">
          <label for="import-url">Address of the description</label>
          <input
            id="import-url"
            type="text"
            inputMode="url"
            placeholder="https://api.example.com/openapi.json"
            value={url}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => setUrl(event.currentTarget.value)}
          />
        </div>
        <button
          type="button"
          class="button"
          disabled={busy || url.trim() === ''}
          onClick={() => void read({ url })}
        >
          Read the address
        </button>
      </div>
      <div class="cell">
        <label for="import-text">Or paste it</label>
        <textarea
          id="import-text"
          rows={4}
          class="mono"
          value={text}
          spellcheck={false}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <div class="buttons">
        <button
          type="button"
          class="button"
          disabled={busy || text.trim() === ''}
          onClick={() => void read({ text })}
        >
          Read the text
        </button>
        <button type="button" class="button" disabled={busy} onClick={() => file.current?.click()}>
          Choose a file
        </button>
        <input
          ref={file}
          type="file"
          hidden
          aria-label="File of the description"
          accept=".json,.yaml,.yml"
          onChange={async (event) => {
            const input = event.currentTarget
            const [chosen] = input.files ?? []
            if (chosen) await read({ text: await chosen.text(), name: chosen.name })
            // The same file can be chosen again after it was changed.
            input.value = ''
          }}
        />
      </div>
      <div role="status">
        {busy && <p class="hint">Reading…</p>}
        {told.done !== undefined && (
          <p class="field-message ok">
            <Icon name="ok" />
            <span>{told.done}</span>
          </p>
        )}
        {told.error !== undefined && (
          <p class="field-message error">
            <Icon name="error" />
            <span>{told.error}</span>
          </p>
        )}
      </div>
      {preview && (
        <ImportedRoutes
          key={preview.title}
          preview={preview}
          rows={preview.imported.map(({ route }) => routeRow(route))}
          onTake={(rows) => take(rows, preview)}
        />
      )}
    </More>
  )
}
