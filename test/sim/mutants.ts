import type { Engine, Outcome } from '../../src/engine/outcome.ts'
import type { Random, Store, Use } from '../../src/ports.ts'
import { type SignedAuthorization, splitKey } from '../../src/schemes/exact/authorization.ts'
import type { WireIntent } from './buyers/wire.ts'
import type { ChainPort } from './chain/chain-port.ts'
import type { Mutation } from './outside.ts'

export interface Mutant {
  name: string
  mutation: Partial<Mutation>
  /** Seen in few histories only. */
  rare?: true
}

/** Money bugs, one at a time. Each stands for something that an engine could forget. */
export const MUTANTS: readonly Mutant[] = [
  { name: 'two instances overwrite each other', mutation: { store: ignoringVersions } },
  { name: 'the mark that something was sent is not durable', mutation: { store: forgettingBroadcasts } },
  { name: 'a payment is sent before it is stored', mutation: { settlement: sendingEarly() } },
  { name: 'an authorization used before the claim is taken', mutation: { chain: lookingAway } },
  { name: 'a cancelled authorization counts as paid', mutation: { chain: takingCancelled }, rare: true },
  { name: 'what was sent counts as paid', mutation: { chain: takingSent } },
  { name: 'the latest block counts as final', mutation: { chain: believingLatest } },
  { name: 'a refund has a nonce of its own', mutation: { refundSigner: randomRefundNonce() } },
  { name: 'the salt of a 402 can be guessed', mutation: { random: guessableSalt } },
  { name: 'a delivery has no event', mutation: { store: droppingEvents } },
  {
    name: 'an unknown outcome is a new 402 for those who pay by MPP',
    mutation: { answer: offeringAnew },
    rare: true,
  },
]

/** MPP's clients sign whatever 402 they are answered. */
function offeringAnew(outcome: Outcome, { payment, call }: WireIntent, engine: Engine): Outcome {
  const unknown = outcome.kind === 'failed' && outcome.error.code === 'SETTLEMENT_PENDING'
  if (!unknown || !payment?.credential) return outcome
  const { planId, routeId } = payment.accepted?.extra ?? {}
  const item = routeId === undefined ? { planId: planId! } : { routeId, ...(call && { call }) }
  return engine.offer({ transport: 'http', ...item }) ?? outcome
}

function ignoringVersions(store: Store): Store {
  return {
    ...store,
    async commit(step) {
      const puts = await Promise.all(
        step.puts.map(async (put) => {
          const [stored] = await store.get(put.table, [put.row.key])
          return { ...put, row: { ...put.row, version: stored?.version ?? 0 } } as typeof put
        }),
      )
      return store.commit({ ...step, puts })
    },
  }
}

function forgettingBroadcasts(store: Store): Store {
  return {
    ...store,
    async commit(step) {
      const sent = step.puts.some(({ table, row }) => table === 'authorizations' && row.phase === 'BROADCAST')
      return sent ? { kind: 'applied' } : store.commit(step)
    },
  }
}

function droppingEvents(store: Store): Store {
  return {
    ...store,
    commit(step) {
      const delivers = step.audit?.some(({ event }) => event === 'delivered')
      const puts = step.puts.filter(({ table }) => !delivers || table !== 'webhooks')
      return store.commit({ ...step, puts })
    },
  }
}

function sendingEarly(): Mutation['settlement'] {
  return (settlement) => ({
    ...settlement,
    async makeBatches(items) {
      const batches = await settlement.makeBatches(items)
      await Promise.all(batches.map((batch) => batch.send()))
      return batches
    },
  })
}

function lookingAway(chain: ChainPort): ChainPort {
  return {
    ...chain,
    async simulate(auths) {
      const { at, results } = await chain.simulate(auths)
      return {
        at,
        results: results.map((result) => (result.kind === 'used' ? { kind: 'ok', alone: true } : result)),
      }
    },
  }
}

/** Remembers what was looked at, to invent transfers of it. */
function inventing(
  chain: ChainPort,
  invent: (key: string, auth: SignedAuthorization, found: Use | undefined) => Use | undefined,
): ChainPort {
  const known = new Map<string, SignedAuthorization>()
  const uses: ChainPort['uses'] = async (keys, fromHeight, hashes) => {
    const { at, found, mined } = await chain.uses(keys, fromHeight, hashes)
    const all = keys.flatMap((key) => {
      const auth = known.get(splitKey(key).nonce)
      const use = found.find((candidate) => candidate.key === key)
      return (auth && invent(key, auth, use)) ?? use ?? []
    })
    return { at, found: all, mined }
  }
  return {
    ...chain,
    async simulate(auths) {
      for (const auth of auths) known.set(auth.nonce, auth)
      return chain.simulate(auths)
    },
    uses,
    async usesIfMined(keys, fromHeight, hashes) {
      const seen = await uses(keys, fromHeight, hashes)
      return { at: seen.at, uses: seen }
    },
  }
}

function paid(
  key: string,
  { from, to, value }: SignedAuthorization,
  { block, txHash }: Pick<Use, 'block' | 'txHash'>,
): Use {
  return { kind: 'transfer', key, block, txHash, logIndex: 0, from, to, value }
}

function takingCancelled(chain: ChainPort): ChainPort {
  return inventing(chain, (key, auth, use) => (use?.kind === 'canceled' ? paid(key, auth, use) : undefined))
}

function takingSent(chain: ChainPort): ChainPort {
  return inventing(chain, (key, auth, use) => {
    const block = { number: 100, hash: '0xb10c', timestamp: 1_700_000_000 } as const
    return use ? undefined : paid(key, auth, { block, txHash: `0x${auth.nonce.slice(2)}` })
  })
}

function believingLatest(chain: ChainPort): ChainPort {
  return {
    ...chain,
    async head() {
      const { latest } = await chain.head()
      return { latest, finalized: latest }
    },
  }
}

function randomRefundNonce(): Mutation['refundSigner'] {
  let made = 0
  return (signer) => ({
    ...signer,
    sign: ({ recipient, value }, chainTime) =>
      signer.sign({ receiptKey: madeUpKey(++made), recipient, value }, chainTime),
  })
}

const madeUpKey = (serial: number): string => `1:0x${'0'.repeat(64)}:plain-${serial}`

function guessableSalt(random: Random): Random {
  return { bytes: (length) => (length === 16 ? new Uint8Array(16) : random.bytes(length)) }
}
