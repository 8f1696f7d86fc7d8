import { UnavailableError } from '../errors.ts'
import type { ExchangeLimits } from '../exchange.ts'
import type { Network } from '../protocol/network.ts'
import { OversizeError } from './http-text.ts'
import { createRpc, type Rpc, type RpcState, resultOf } from './rpc.ts'
import { surveyNodes, type Verdict } from './rpc-health.ts'
import { createRpcPace } from './rpc-pace.ts'

/** A node that failed is left out for this long, and for twice as long each further time. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000
/** While the pool is in use, its nodes are compared this often. */
const LOOK_EVERY_MS = 10_000
const REFUSES: Verdict = {
  kind: 'behind',
  reason: 'answers errors instead of its chain id and its latest block',
}
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 10_000

/** The nodes of one network. */
export interface RpcPool extends Rpc, RpcState {
  /** Each node on its own, in the order of the URLs. Never the URL: it often contains an API key. */
  readonly nodes: ReadonlyArray<{ host: string; rpc: Rpc }>
  /** Leaves this node out until it is found to be good. */
  leaveOut(node: number, reason: string): void
  /** Compares the nodes now. */
  compare(): Promise<void>
}

interface Node {
  host: string
  rpc: Rpc & RpcState
  restsUntilMs: number
  pauseMs: number
  verdict: Verdict | undefined
}

type Nodes = Pick<Network, 'rpcUrls' | 'chainId' | 'blockMs' | 'finalDepth'>

/** Where the chain is asked: a pool that is shared, or one node by its URL. */
export type RpcSource = { rpc: Rpc & RpcState } | { rpcUrl: string; timeoutMs?: number }

export function rpcOf(source: RpcSource): Rpc & RpcState {
  if ('rpc' in source) return source.rpc
  return createRpc(source.rpcUrl, { timeoutMs: source.timeoutMs ?? TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES })
}

/**
 * Asks the nodes of a network in the order of their URLs. If one does not answer, the next one gets the same call at
 * once, and the first is left out for a while. Nodes that are behind the others, or contradict them, are left out
 * until they are good again. There are no timers: nodes are compared when the pool is used.
 */
export function createRpcPool(
  network: Nodes,
  limits: ExchangeLimits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES },
  {
    now = Date.now,
    onLeftOut = () => {},
  }: { now?: () => number; onLeftOut?: (host: string, reason: string) => void } = {},
): RpcPool {
  const several = network.rpcUrls.length > 1
  // The first node may not use up the time in which the second could answer.
  const perNode = several ? { ...limits, timeoutMs: Math.ceil(limits.timeoutMs / 2) } : limits
  const nodes = network.rpcUrls.map((url): Node => {
    const rpc = createRpc(url, perNode, createRpcPace(now))
    return { host: new URL(url).host, rpc, restsUntilMs: 0, pauseMs: 0, verdict: undefined }
  })
  const [first] = nodes
  if (!first) throw new RangeError('a pool of nodes needs a URL')
  if (!several) return { ...first.rpc, nodes: [first], leaveOut() {}, async compare() {} }

  let looking = false
  let nextLookMs = 0

  /** Failures of calls that were under way together count as one. */
  function fail(node: Node): void {
    const nowMs = now()
    if (nowMs < node.restsUntilMs) return
    node.pauseMs = Math.min(LONGEST_PAUSE_MS, node.pauseMs * 2 || FIRST_PAUSE_MS)
    node.restsUntilMs = nowMs + node.pauseMs
  }

  /** The node alone. `failed`: one of the calls had no answer. */
  function pin(node: Node): Rpc & { failed: boolean } {
    const pinned = {
      failed: false,
      async attempt(method: string, params: readonly unknown[]) {
        try {
          const answer = await node.rpc.attempt(method, params)
          node.pauseMs = 0
          node.restsUntilMs = 0
          return answer
        } catch (error) {
          // An answer that is too large is an answer: another node would give the same.
          if (!(error instanceof OversizeError)) {
            pinned.failed = true
            fail(node)
          }
          throw error
        }
      },
      call: async (method: string, params: readonly unknown[]) =>
        resultOf(method, await pinned.attempt(method, params)),
    }
    return pinned
  }

  /**
   * Good nodes in the order of their URLs; after them those that take few calls now, and then those that may answer
   * after all.
   */
  function inOrder(): Node[] {
    const nowMs = now()
    const rank = ({ rpc, verdict, restsUntilMs }: Node): number =>
      restsUntilMs > nowMs ? 3 : verdict ? 2 : rpc.isLimited() ? 1 : 0
    return nodes.filter(({ verdict }) => verdict?.kind !== 'wrong').sort((a, b) => rank(a) - rank(b))
  }

  function judge(node: Node, verdict: Verdict | undefined): void {
    const isNews = verdict && verdict.kind !== node.verdict?.kind
    node.verdict = verdict
    if (isNews) onLeftOut(node.host, verdict.reason)
  }

  async function compare(): Promise<void> {
    const awake = nodes.filter(({ restsUntilMs }) => restsUntilMs <= now())
    const pinned = awake.map(pin)
    const verdicts = await surveyNodes(pinned, network, now())
    const another = verdicts.some((verdict) => verdict === undefined)
    verdicts.forEach((verdict, index) => {
      const node = awake[index]!
      if (verdict !== 'silent') judge(node, verdict)
      // It answered, but only errors: its key may have been revoked.
      else if (another && !pinned[index]!.failed && node.verdict?.kind !== 'wrong') judge(node, REFUSES)
    })
  }

  function lookIfDue(): void {
    if (looking || now() < nextLookMs) return
    nextLookMs = now() + LOOK_EVERY_MS
    looking = true
    void compare().finally(() => {
      looking = false
    })
  }

  async function together<T>(work: (node: Rpc) => Promise<T>): Promise<T> {
    lookIfDue()
    const givenUpAtMs = now() + limits.timeoutMs
    let failure: unknown = new UnavailableError('the RPC (every node was left out)')
    for (const [tried, node] of inOrder().entries()) {
      // Long work gets a second node all the same.
      if (tried > 1 && now() >= givenUpAtMs) break
      const pinned = pin(node)
      try {
        return await work(pinned)
      } catch (error) {
        if (!pinned.failed) throw error
        failure = error
      }
    }
    throw failure
  }

  const attempt: Rpc['attempt'] = (method, params) => together((node) => node.attempt(method, params))
  const preferred = (): Node['rpc'] => (inOrder()[0] ?? first).rpc
  return {
    nodes,
    attempt,
    call: async (method, params) => resultOf(method, await attempt(method, params)),
    together,
    // A node that gives no answer here is not left out: the plain call follows, and shows whether it is there.
    sendAndWait: {
      send: async (raw, waitMs) => preferred().sendAndWait?.send(raw, waitMs),
      isAsked: () => preferred().sendAndWait?.isAsked() ?? false,
    },
    roundTripMs: () => preferred().roundTripMs(),
    isLimited: () => preferred().isLimited(),
    compare,
    leaveOut: (node, reason) => judge(nodes[node]!, { kind: 'wrong', reason }),
  }
}
