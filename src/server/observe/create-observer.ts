import type { Engine, Instruments } from '../../backstage.ts'
import type { AlertKind, ChallengeRow, Store } from '../../ports.ts'
import { type AlertBook, createAlertBook } from './alert-book.ts'
import { createAlertWebhook } from './alert-webhook.ts'
import { createLog, type Logger } from './create-log.ts'
import { createMetrics, type GaugeSources } from './create-metrics.ts'
import { createRedactor } from './create-redactor.ts'
import { createSaleFollower } from './follow-sales.ts'
import { observeNow } from './observe-later.ts'
import { watchEngine } from './watch-engine.ts'
import { watchStore } from './watch-store.ts'

/** Log, metrics, traces and alerts of one process, for every gateway that it runs one after the other. */
export interface Observer {
  log: Logger
  alerts: AlertBook
  /** What /metrics answers. */
  metrics(): Promise<string>
  onAlert(kind: AlertKind, message: string): void
  watchStore(store: Store): Store
  watchEngine(engine: Engine): Engine
  /** All of it in the form that `createGateway` takes. */
  instruments: Instruments
  /** Values that must never be in the log or in an alert, such as the admin token. */
  conceal(secrets: readonly string[]): void
  /** Calls the listener whenever this process has changed something, with the changed challenges that nobody has paid yet. */
  onChange(listener: (unpaid: readonly ChallengeRow[]) => void): () => void
  /** Sources that are read at every scrape, until others replace them or the returned function is called. */
  setGauges(sources: GaugeSources): () => void
  /** Changes the log level or the webhook while the server runs. */
  configure(settings: { logLevel: string; alertWebhookUrl: string | null }): void
  /** Writes what still waits, and resolves when every alert is delivered or given up. */
  close(): Promise<void>
}

/**
 * Created once per process; it is kept when the gateway is swapped.
 *
 * @example
 * import { createGateway } from 'paystile'
 *
 * const observer = createObserver({ logLevel: 'info', alertWebhookUrl: null })
 * const gateway = await createGateway({ walletAddress: '0x…' }, {}, observer.instruments)
 */
export function createObserver(options: {
  logLevel: string
  alertWebhookUrl: string | null
  /** Default: standard output. */
  write?: (line: string) => void
}): Observer {
  let { alertWebhookUrl } = options
  const redactor = createRedactor()
  const log = createLog(
    options.logLevel,
    redactor,
    options.write ?? ((line) => void process.stdout.write(line)),
  )
  const metrics = createMetrics()
  const webhook = createAlertWebhook({ url: () => alertWebhookUrl, onFailure: (reason) => log.warn(reason) })
  const alerts = createAlertBook({
    now: Date.now,
    clean: redactor.clean,
    count: (kind) => metrics.alerts.inc({ kind }),
    tell(alert) {
      log.error({ alert: alert.kind, count: alert.count }, alert.message)
      webhook.send(alert)
    },
  })
  /** As the running gateway has them: log lines name the network only where it could be another one. */
  let networks = 1
  const several = () => networks > 1
  const follow = createSaleFollower({ log, metrics, several })
  const listeners = new Set<(unpaid: readonly ChallengeRow[]) => void>()
  const concealUrl = (url: string | null) => {
    if (url !== null && URL.canParse(url)) redactor.conceal([url, ...longParts(new URL(url))])
  }
  concealUrl(alertWebhookUrl)

  const observer: Observer = {
    log,
    alerts,
    metrics() {
      observeNow()
      return metrics.text()
    },
    onAlert: alerts.raise,
    watchStore: (store) =>
      watchStore(store, ({ entries, unpaid }) => {
        for (const entry of entries) follow(entry)
        for (const listener of listeners) listener(unpaid)
      }),
    watchEngine(engine) {
      networks = engine.rails().length
      return watchEngine(engine, { log, metrics, several })
    },
    instruments: {
      store: (store) => observer.watchStore(store),
      engine: (engine) => observer.watchEngine(engine),
      alert: alerts.raise,
      conceal: redactor.conceal,
    },
    conceal: redactor.conceal,
    onChange(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    setGauges: metrics.setSources,
    configure(settings) {
      log.level = settings.logLevel
      alertWebhookUrl = settings.alertWebhookUrl
      concealUrl(alertWebhookUrl)
    },
    close() {
      observeNow()
      return webhook.idle()
    },
  }
  return observer
}

/** The secret of a webhook is usually a part of its path. */
function longParts({ pathname, password }: URL): string[] {
  return [...pathname.split('/'), password].filter((part) => part.length >= 16)
}
