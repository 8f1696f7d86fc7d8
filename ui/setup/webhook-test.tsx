import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { get, post } from '../shared/api.ts'
import type { WebhookState } from '../shared/wire.ts'
import { useSetupContext } from './use-setup.ts'

/** Sends an example to each saved endpoint. What is only typed cannot be tested: its secret is made when it is saved. */
export function WebhookTest(): JSX.Element | null {
  const { state, form } = useSetupContext()
  const isSaved = state.configured && state.secrets.WEBHOOK_URL?.set === true
  const isChanged = form.secrets.WEBHOOK_URL !== undefined
  const [endpoints, setEndpoints] = useState<WebhookState['endpoints']>([])
  const [said, say] = useState<Record<string, string>>({})
  useEffect(() => {
    if (!isSaved) return
    get<WebhookState>('/admin/api/webhooks').then(
      (found) => setEndpoints(found.endpoints),
      () => setEndpoints([]),
    )
  }, [isSaved])
  if (isChanged) return <p class="hint">Save first; then it can be tested here.</p>
  if (endpoints.length === 0) return null
  const test = async (endpoint: string): Promise<void> => {
    say((old) => ({ ...old, [endpoint]: 'Asking…' }))
    const words = await post<{ status: number | null; text: string }>('/admin/api/webhooks/test', {
      endpoint,
    })
      .then(({ status, text }) => (status === null ? `No answer: ${text}` : `It answered ${status}. ${text}`))
      .catch((error: Error) => error.message)
    say((old) => ({ ...old, [endpoint]: words.trim() }))
  }
  return (
    <ul class="webhook-tests">
      {endpoints.map(({ id, host }, index) => (
        <li key={id}>
          <button type="button" class="button" onClick={() => void test(id)}>
            Send a test to {host}
            {endpoints.filter((other) => other.host === host).length > 1 &&
              ` (${index + 1} of ${endpoints.length})`}
          </button>
          <span role="status">{said[id] ?? ''}</span>
        </li>
      ))}
    </ul>
  )
}
