import type { SourceMutant } from './source-mutant.ts'

const storm = 'buyers by MPP, and thieves who know its ids or the calldata'

/** Mistakes of a gateway that sells by MPP, whose nonces everybody can see and whose ids only buyers know. */
export const MPP_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'whoever shows the nonce of an MPP payment is its buyer',
    storm,
    file: 'dialects/mpp/read-credential',
    from: 'if (!sameHex(payload.nonce, pinnedNonce(challenge.id, realm)))',
    to: "if (payload.nonce === '')",
    also: {
      from: 'const [challengeId, salt] = splitId(challenge.id)',
      to: 'const [challengeId, salt] = [splitId(challenge.id)[0], payload.nonce]',
    },
  },
  {
    name: 'the salt of an MPP id is not needed for a replay',
    storm,
    file: 'dialects/mpp/read-credential',
    from: 'const [challengeId, salt] = splitId(challenge.id)',
    to: 'const [challengeId, salt] = [splitId(challenge.id)[0], splitId(challenge.id)[0]]',
  },
  {
    name: 'an MPP id follows from what everybody knows',
    storm,
    file: 'dialects/mpp/words',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    from: 'return index === 0 ? `${challengeId}.${salt}`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    to: 'return index === 0 ? `${challengeId}.${challengeId}`',
  },
  {
    name: 'whoever answers the id of a paid MPP challenge gets its result',
    storm,
    file: 'engine/settle/redeem-payment',
    from: 'if (!isPaidBy(challenge, owner) || challenge.receipt === null)',
    to: 'if (challenge.receipt === null)',
    also: {
      from: 'const wait = { challengeId: challenge.key, owner, fresh: false,',
      to: 'const wait = { challengeId: challenge.key, owner: { ...owner, payer: challenge.payer, network: challenge.network }, fresh: false,',
    },
  },
]
