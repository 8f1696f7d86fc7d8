// The process that is killed: the built gateway, unchanged, between instruments that stop at every effect and ask the
// harness by IPC whether to go on. The harness kills it instead where a point says so.

import { pathToFileURL } from 'node:url'

/** @type {{ port: number, offsetMs: number, watched: boolean, options: object, walletRefs: string[] }} */
const boot = JSON.parse(process.env.CRASH_BOOT ?? '{}')

// The gateway's clock is Date.now as it finds it: hours pass as fast as the harness says, for it and for the chain.
let offsetMs = boot.offsetMs
const wallClock = Date.now
Date.now = () => wallClock() + offsetMs

// A bundle of the build, where there is one, starts in half the time.
const bundled = process.env.PAYSTILE_SERVER_PROGRAM && pathToFileURL(process.env.PAYSTILE_SERVER_PROGRAM)
const [{ createGateway }, { serveHttp }] = await Promise.all([
  import(bundled ? new URL('gateway.js', bundled) : '../../dist/gateway.js'),
  import(bundled ? new URL('serve-http.js', bundled) : '../../dist/server/serve-http.js'),
])

let asked = 0
/** @type {Map<number, () => void>} */
const waiting = new Map()

/** Waits for leave to go on. */
function reach(effect, when) {
  if (!boot.watched) return Promise.resolve()
  return new Promise((go) => {
    waiting.set(++asked, go)
    process.send({ type: 'reach', id: asked, effect, when })
  })
}

let store
let engine

const TABLES = ['challenges', 'requests', 'authorizations', 'receipts', 'refunds', 'walletTxs', 'outbox']

const commands = {
  tick: () => engine.runJobs(),
  /** Everything that was ever logged, and the rows that belong to it or to these challenges. */
  async rows({ challengeIds }) {
    const log = await store.log(0, 10_000)
    const ids = [...new Set([...challengeIds, ...log.map(({ challengeId }) => challengeId)])]
    const listed = async (table, refs) =>
      (await Promise.all(refs.map((ref) => store.list(table, ref)))).flat()
    const [challenges, credits, authorizations, receipts, refunds, outbox, walletTxs] = await Promise.all([
      store.get('challenges', ids),
      store.get('credits', ids),
      listed('authorizations', ids),
      listed('receipts', ids),
      listed('refunds', ids),
      listed('outbox', ids),
      listed('walletTxs', boot.walletRefs),
    ])
    const found = (rows) => rows.filter((row) => row !== undefined)
    return {
      log,
      challenges: found(challenges),
      credits: found(credits),
      authorizations,
      receipts,
      refunds,
      outbox,
      walletTxs,
    }
  },
  /** Rows that wait for a job, however late. Taking them ends the life of this store: the last question of a point. */
  async due() {
    const all = await Promise.all(
      TABLES.map(async (table) => {
        const rows = await store.takeDue(table, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER, 1000)
        return rows.map((row) => ({ table, row }))
      }),
    )
    return all.flat()
  },
}

let isUp
const up = new Promise((resolve) => {
  isUp = resolve
})

process.on('message', async (message) => {
  if (message.type === 'go') {
    waiting.get(message.id)?.()
    waiting.delete(message.id)
  } else if (message.type === 'clock') {
    offsetMs = message.offsetMs
  } else {
    await up
    const answer = await commands[message.type](message).then(
      (value) => ({ value }),
      (error) => ({ error: String(error?.stack ?? error) }),
    )
    process.send({ type: 'answer', id: message.id, ...answer })
  }
})
// Nothing of a harness that is gone may stay.
process.on('disconnect', () => process.exit(1))

function watchStore(opened) {
  store = opened
  return {
    ...opened,
    async commit(step) {
      const effect = { kind: 'commit', step }
      await reach(effect, 'before')
      const committed = await opened.commit(step)
      await reach(effect, 'after')
      return committed
    },
    async takeDue(table, ...rest) {
      const rows = await opened.takeDue(table, ...rest)
      if (rows.length > 0) await reach({ kind: 'due', table }, 'after')
      return rows
    },
  }
}

const told = (event) => async (payment) => {
  await reach({ kind: 'hook', event }, 'before')
  process.send({ type: 'told', event, challengeId: payment.challengeId })
  await reach({ kind: 'hook', event }, 'after')
}

const gateway = await createGateway(
  { ...boot.options, onPaymentReceived: told('payment-received'), onRefund: told('refunded') },
  {},
  {
    store: watchStore,
    engine(bare) {
      engine = bare
      return bare
    },
  },
)

async function handler(request, peer) {
  const response = await gateway.fetch(request, peer)
  await reach({ kind: 'answer', status: response.status }, 'before')
  return response
}

await serveHttp({ handler, port: boot.port, host: '127.0.0.1' })
isUp()
process.send({ type: 'ready' })
