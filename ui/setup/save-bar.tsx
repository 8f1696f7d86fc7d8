import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { ApiError, post } from '../shared/api.ts'
import { Notice } from '../shared/notice.tsx'
import type { Fault, SaveAnswer } from '../shared/wire.ts'
import { fieldId } from './field-shell.tsx'
import type { Sold } from './live-page.tsx'
import { missingWords } from './missing-words.ts'
import { chosenNetworks } from './networks.ts'
import { sectionOf } from './section-list.ts'
import { TokenQuestion } from './token-question.tsx'
import { type Setup, useSetupContext } from './use-setup.ts'

/** Shows what is missing before the gateway can sell, and the button that starts it. */
export function SaveBar({
  onLive,
  onAll,
}: {
  onLive: (sold: Sold) => void
  /** Shows the settings that the short form leaves out. */
  onAll?: () => void
}): JSX.Element {
  const setup = useSetupContext()
  const [busy, setBusy] = useState(false)
  const [fault, setFault] = useState('')
  const [question, setQuestion] = useState('')
  /** The server requires the token for these changes; an earlier confirmation is kept. */
  const [guarded, setGuarded] = useState<Guarded>()
  const open = openPoints(setup)

  const save = async (confirm: boolean, token?: string): Promise<void> => {
    setup.attempt()
    setFault('')
    setQuestion('')
    setBusy(true)
    try {
      const input = setup.input
      const answer = await post<SaveAnswer>('/setup/api/save', {
        ...input,
        ...(confirm && { confirm: true }),
        ...(token !== undefined && { token }),
      })
      const { plans, routes, values } = setup.form
      const networks = chosenNetworks(values, setup.state.networks)
      onLive({
        ...{ url: answer.url, plans, routes },
        testnet: networks.every(({ network }) => network?.testnet === true),
        ...(networks[0]?.network?.faucet && { faucet: networks[0].network.faucet }),
        hasPages: !/^(off|false|0)$/i.test(values.SHOP_WINDOW ?? ''),
      })
      scrollTo(0, 0)
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      setGuarded(undefined)
      if (error.body.needsToken === true) setGuarded(guardedOf(error, confirm))
      else if (error.status === 409) setQuestion(reasonsOf(error))
      else if (error.status === 422) leadTo(firstFault(error) ?? open[0], onAll)
      else setFault(error.message)
    } finally {
      setBusy(false)
    }
  }

  return (
    <div class="save-area">
      {fault !== '' && (
        <Notice level="error" title="It could not be started">
          <p>{fault}</p>
          <p>Nothing was changed: what ran before still runs.</p>
        </Notice>
      )}
      {question !== '' && (
        <Notice level="warn" title="Are you sure?">
          <p>{question}</p>
          <div class="buttons">
            <button type="button" class="button danger" onClick={() => void save(true)}>
              Yes, change it
            </button>
            <button type="button" class="button" onClick={() => setQuestion('')}>
              No, leave it
            </button>
          </div>
        </Notice>
      )}
      {guarded && (
        <TokenQuestion
          names={guarded.names}
          reason={guarded.reason}
          busy={busy}
          onToken={(token) => void save(guarded.confirmed, token)}
          onCancel={() => setGuarded(undefined)}
        />
      )}
      <div class="save-bar">
        <div class="save-state">
          {open.length === 0 ? (
            <p>{setup.answer ? 'Everything needed is there.' : 'Checking…'}</p>
          ) : (
            <details class="open-points">
              <summary>{open.length === 1 ? 'One thing to do' : `${open.length} things to do`}</summary>
              <ul>
                {open.map((point) => (
                  <li key={point.message}>
                    <a
                      href={`#${sectionOf(point.name) ?? 'main'}`}
                      onClick={(event) => {
                        event.preventDefault()
                        setup.attempt()
                        leadTo(point, onAll)
                      }}
                    >
                      {point.message}
                    </a>
                  </li>
                ))}
              </ul>
            </details>
          )}
        </div>
        <button type="button" class="button primary" disabled={busy} onClick={() => void save(false)}>
          {busy ? 'Starting…' : setup.state.configured ? 'Save changes' : 'Save and go live'}
        </button>
      </div>
    </div>
  )
}

interface Guarded {
  names: string[]
  reason: string
  confirmed: boolean
}

function guardedOf({ body, message }: ApiError, confirmed: boolean): Guarded {
  const { names, reason } = body as { names?: string[]; reason?: string }
  return { names: names ?? [], reason: reason ?? message, confirmed }
}

function openPoints({ answer }: Setup): Fault[] {
  if (!answer) return []
  const failed = Object.entries(answer.fields).flatMap(([name, { level, message }]) =>
    level === 'error' ? [{ name, message: message.startsWith(name) ? message : `${name}: ${message}` }] : [],
  )
  const seen = new Set<string | null>()
  const missing = answer.missing.map((point) => ({ ...point, message: missingWords(point) }))
  return [...answer.faults, ...missing, ...failed].filter((point, index) => {
    // One line per setting is enough, but plans and routes may each have several.
    const isList = point.name === 'PLANS' || point.name === 'ROUTES' || point.name === null
    if (!isList && seen.has(point.name)) return false
    if (isList && index >= answer.faults.length + answer.missing.length) return false
    seen.add(point.name)
    return true
  })
}

function reasonsOf({ body, message }: ApiError): string {
  return Array.isArray(body.reasons) ? body.reasons.join(' ') : message
}

function firstFault(error: ApiError): Fault | undefined {
  const { faults, missing } = error.body as { faults?: Fault[]; missing?: Fault[] }
  return faults?.[0] ?? missing?.[0]
}

/** Scrolls to the faulty field and focuses it, in the frame after the messages were drawn. */
function leadTo(point: Fault | undefined, onAll?: () => void): void {
  if (!point) return
  requestAnimationFrame(() => {
    const isShown = (id: string): boolean => document.getElementById(id) !== null
    const isHere = isShown(fieldId(point.name ?? '')) || isShown(`list-${(point.name ?? '').toLowerCase()}`)
    if (onAll && !isHere) {
      onAll()
      return leadTo(point)
    }
    const list = document.getElementById(`list-${(point.name ?? '').toLowerCase()}`)
    const field =
      document.getElementById(fieldId(point.name ?? '')) ??
      list?.querySelector<HTMLElement>('[aria-invalid="true"]') ??
      list?.querySelector<HTMLElement>('input, button') ??
      document.getElementById(`${sectionOf(point.name)}-title`)
    for (let more = field?.closest('details'); more; more = more.parentElement?.closest('details'))
      more.setAttribute('open', '')
    field?.scrollIntoView({ block: 'center' })
    field?.focus({ preventScroll: true })
  })
}
