import type { Chain, Random, SignedAuthorization, Store, Use } from '../../src/ports.ts'
import type { Mutation } from './outside.ts'

export interface Mutant {
  name: string
  mutation: Partial<Mutation>
}

/** Money bugs, one at a time. Each stands for something that an engine could forget. */
export const MUTANTS: readonly Mutant[] = [
  { name: 'two instances overwrite each other', mutation: { store: ignoringVersions } },
  { name: 'the mark that something was sent is not durable', mutation: { store: forgettingBroadcasts } },
  { name: 'a payment is sent before it is stored', mutation: { settlement: sendingEarly() } },
  { name: 'an authorization used before the claim is taken', mutation: { chain: lookingAway } },
  { name: 'a cancelled authorization counts as paid', mutation: { chain: takingCancelled } },
  { name: 'what was sent counts as paid', mutation: { chain: takingSent } },
  { name: 'the latest block counts as final', mutation: { chain: believingLatest } },
  { name: 'a refund has a nonce of its own', mutation: { refundSigner: randomRefundNonce() } },
  { name: 'the salt of a 402 can be guessed', mutation: { random: guessableSalt } },
]

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

function sendingEarly(): Mutation['settlement'] {
  return (settlement) => ({
    ...settlement,
    async pack(items) {
      const parcels = await settlement.pack(items)
      await Promise.all(parcels.map((parcel) => parcel.send()))
      return parcels
    },
  })
}

function lookingAway(chain: Chain): Chain {
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
  chain: Chain,
  invent: (auth: SignedAuthorization, found: Use | undefined) => Use | undefined,
): Chain {
  const known = new Map<string, SignedAuthorization>()
  const uses: Chain['uses'] = async (keys, fromHeight, hashes) => {
    const { at, found, mined } = await chain.uses(keys, fromHeight, hashes)
    const all = keys.flatMap((key) => {
      const auth = known.get(key.nonce)
      const use = found.find((candidate) => candidate.key.nonce === key.nonce)
      return (auth && invent(auth, use)) ?? use ?? []
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
      return { at: seen.at, seen }
    },
  }
}

function paid(auth: SignedAuthorization, { block, txHash }: Pick<Use, 'block' | 'txHash'>): Use {
  const { from, to, value, nonce } = auth
  return { kind: 'transfer', key: { payer: from, nonce }, block, txHash, logIndex: 0, from, to, value }
}

function takingCancelled(chain: Chain): Chain {
  return inventing(chain, (auth, use) => (use?.kind === 'canceled' ? paid(auth, use) : undefined))
}

function takingSent(chain: Chain): Chain {
  return inventing(chain, (auth, use) => {
    const block = { number: 100, hash: '0xb10c', timestamp: 1_700_000_000 } as const
    return use ? undefined : paid(auth, { block, txHash: `0x${auth.nonce.slice(2)}` })
  })
}

function believingLatest(chain: Chain): Chain {
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
  return (signer) => ({ ...signer, nonceOf: () => `0xdead${String(++made).padStart(60, '0')}` })
}

function guessableSalt(random: Random): Random {
  return { bytes: (length) => (length === 16 ? new Uint8Array(16) : random.bytes(length)) }
}
