import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type {
  AuditEntry,
  AuthorizationRow,
  ChallengeRow,
  CreditRow,
  OutboxRow,
  ReceiptRow,
  RefundRow,
  RowBase,
  TableName,
  WalletTxRow,
} from '../../src/ports.ts'
import type { Effect } from './effects.ts'
import { createTrigger, type Mark, type Trigger, type When } from './trigger.ts'

const CHILD = fileURLToPath(new URL('./gateway-under-test.mjs', import.meta.url))
const TAIL = 40

/** What the store holds of all sales. */
export interface Books {
  log: Array<AuditEntry & { seq: number }>
  challenges: ChallengeRow[]
  credits: CreditRow[]
  authorizations: AuthorizationRow[]
  receipts: ReceiptRow[]
  refunds: RefundRow[]
  outbox: OutboxRow[]
  /** Open ones. */
  walletTxs: WalletTxRow[]
}

type FromChild =
  | { type: 'ready' }
  | { type: 'reach'; id: number; effect: Effect; when: When }
  | { type: 'told'; event: string; challengeId: string }
  | { type: 'answer'; id: number; value?: unknown; error?: string }

/** A gateway in a process of its own that dies where its marks say, and is started again each time. */
export interface SupervisedGateway {
  baseUrl: string
  trigger: Trigger
  /** `event:challengeId` of every call of the seller's hooks. */
  told: string[]
  /** Kills so far. */
  deaths(): number
  /** Rejects when the gateway cannot be started, or dies of something else. */
  failure: Promise<never>
  setClock(offsetMs: number): void
  /** One pass of all jobs. Undefined: it died meanwhile. */
  tick(): Promise<true | undefined>
  /** Unpaid challenges leave no log entry, so the known ones must be named. */
  books(challengeIds: Iterable<string>): Promise<Books | undefined>
  /** Rows that still wait for a job. Nothing else can be done with the gateway afterwards. */
  due(): Promise<Array<{ table: TableName; row: RowBase }> | undefined>
  /** The last lines that each life wrote. */
  logs(): string[]
  stop(): Promise<void>
}

export interface Boot {
  port: number
  options: object
  /** Gas wallets on their chains, as the store groups their transactions: the open ones are part of the books. */
  walletRefs: string[]
  offsetMs: number
}

export async function superviseGateway(boot: Boot, marks: readonly Mark[], watchAlways: boolean) {
  let offsetMs = boot.offsetMs
  let child: ChildProcess
  let deaths = 0
  let ended = false
  let question = 0
  const questions = new Map<number, (answer: Extract<FromChild, { type: 'answer' }> | undefined) => void>()
  const told: string[] = []
  const logs: string[][] = []
  let fail: (error: Error) => void = () => {}
  const failure = new Promise<never>((_, reject) => {
    fail = reject
  })
  failure.catch(() => {})
  const trigger = createTrigger(marks, () => child.kill('SIGKILL'))

  function launch(): Promise<void> {
    const watched = watchAlways || trigger.left() > 0
    const born = spawn(process.execPath, [CHILD], {
      env: {
        PATH: process.env.PATH,
        PAYSTILE_SERVER_PROGRAM: process.env.PAYSTILE_SERVER_PROGRAM,
        CRASH_BOOT: JSON.stringify({ ...boot, offsetMs, watched }),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    child = born
    const lines: string[] = []
    logs.push(lines)
    const keep = (chunk: Buffer) => lines.push(...`${chunk}`.split('\n').filter((line) => line !== ''))
    born.stdout!.on('data', keep)
    born.stderr!.on('data', keep)
    return new Promise((ready) => {
      born.on('message', (message: FromChild) => {
        if (message.type === 'ready') ready()
        else if (message.type === 'told') told.push(`${message.event}:${message.challengeId}`)
        else if (message.type === 'answer') answer(message.id, message)
        else {
          void trigger.reach(message.effect, message.when).then(() => {
            if (born.connected) born.send({ type: 'go', id: message.id }, () => {})
          })
        }
      })
      born.once('exit', (code, signal) => {
        for (const id of [...questions.keys()]) answer(id, undefined)
        if (ended) return
        if (signal !== 'SIGKILL') {
          fail(new Error(`the gateway ended by itself (${signal ?? `exit code ${code}`})`))
          return
        }
        deaths += 1
        trigger.newLife()
        void launch().then(ready)
      })
    })
  }

  function answer(id: number, message: Extract<FromChild, { type: 'answer' }> | undefined): void {
    questions.get(id)?.(message)
    questions.delete(id)
  }

  async function ask<T>(type: 'tick' | 'rows' | 'due', more: object = {}): Promise<T | undefined> {
    const asked = child
    const message = await new Promise<Extract<FromChild, { type: 'answer' }> | undefined>((resolve) => {
      if (!asked.connected) return resolve(undefined)
      questions.set(++question, resolve)
      asked.send({ ...more, type, id: question }, (error) => {
        if (error) resolve(undefined)
      })
    })
    if (message?.error !== undefined) throw new Error(`${type}: ${message.error}`)
    return message?.value as T | undefined
  }

  const gateway: SupervisedGateway = {
    baseUrl: `http://127.0.0.1:${boot.port}`,
    trigger,
    told,
    failure,
    deaths: () => deaths,
    setClock(next) {
      offsetMs = next
      if (child.connected) child.send({ type: 'clock', offsetMs }, () => {})
    },
    tick: async () => {
      const asked = child
      await ask('tick')
      return asked === child && asked.connected ? true : undefined
    },
    books: (challengeIds) => ask('rows', { challengeIds: [...challengeIds] }),
    due: () => ask('due'),
    logs: () => logs.map((lines, life) => [`life ${life + 1}:`, ...lines.slice(-TAIL)].join('\n  ')),
    async stop() {
      ended = true
      if (child.exitCode !== null || child.signalCode !== null) return
      const gone = new Promise((exit) => child.once('exit', exit))
      child.kill('SIGKILL')
      await gone
    },
  }
  await Promise.race([launch(), failure]).catch(async (error) => {
    await gateway.stop()
    throw new Error(`${error.message}\n${gateway.logs().join('\n')}`)
  })
  trigger.newLife()
  return gateway
}
