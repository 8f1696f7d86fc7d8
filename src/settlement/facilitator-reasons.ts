/**
 * Refusals that a facilitator can give only before it sends anything, in both vocabularies (the x402 library's and
 * CDP's), mapped to the codes of simulations. The library's reasons about Permit2 are left out: facilitators get EIP-3009
 * authorizations from us.
 */
const CERTAIN: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(invalid_exact_evm_(payload_)?)?insufficient_(funds|balance)$/, 'insufficient_funds'],
  [/^invalid_exact_evm_(payload_)?authorization_valid_before$/, 'authorization_expired'],
  [/^invalid_exact_evm_(payload_)?authorization_valid_after$/, 'authorization_not_yet_valid'],
  [/^invalid_exact_evm_(payload_)?signature(_address)?$/, 'invalid_signature'],
  [
    /^invalid_exact_evm_(failed_to_parse_signature|payload_authorization_typed_data_message)$/,
    'invalid_signature',
  ],
  // The library simulates before it sends, never afterwards.
  [/^invalid_exact_evm_(payload_)?transaction_simulation_failed$/, 'simulation_failed'],
  [/^(asset_not_deployed_contract|eip6492_factory_not_allowed)$/, ''],
  [/^invalid_exact_evm_payload_authorization_(from|to)_address_kyt$/, 'blocked_address'],
  [
    /^invalid_exact_evm_(payload_)?(recipient|authorization_value|network|token_name|token_version)_mismatch$/,
    '',
  ],
  [/^invalid_exact_evm_(payload_)?authorization_value(_too_low)?$/, ''],
  [/^invalid_exact_evm_(scheme|missing_eip712_domain|eip3009_not_supported)$/, ''],
  [/^(invalid|unsupported)_(scheme|network|x402_version|payment_requirements|payload|payload_type)$/, ''],
]

/** Reasons that speak of a transaction which may be there: a used nonce, one that failed, has no receipt, or is not confirmed. */
const OF_A_TRANSACTION =
  /nonce|already|duplicate|pending|queued|processing|in.?progress|mempool|(?<![a-z])(mined|tx)(?![a-z])|confirm|receipt|unexpected|transfer_event|transaction(?!.?simulation)/i

/** It could not send one, as far as it knows; or it lost its node, or does not know itself what happened. */
const OF_ITS_OWN_TROUBLE =
  /execute|broadcast|submit(?!ter)|(?<![a-z])sen[dt](?![a-z])|unknown|internal|time.?d?.?out|deadline|cancell?ed|abort|reset|hang.?up|fetch|http|rpc|node|connect|unavailable|rate.?limit|too.?many/i

/**
 * What a well-formed refusal says of the payment. `refused`: that it is not sent, in our word for it if we know one. Not
 * each of these proves it; but such a payment is watched, and goes back if it arrives beside another, while one whose
 * refusal is not believed would keep its buyer waiting until it expires. `declined`: the facilitator did not do it now, in
 * words that are no answer about the payment. `unknown`: it may have been sent.
 */
export type Refusal = { kind: 'refused'; word: string } | { kind: 'declined' | 'unknown' }

export function judgeRefusal(errorReason: string): Refusal {
  for (const [pattern, word] of CERTAIN)
    if (pattern.test(errorReason)) return { kind: 'refused', word: word || errorReason }
  if (OF_A_TRANSACTION.test(errorReason)) return { kind: 'unknown' }
  if (OF_ITS_OWN_TROUBLE.test(errorReason)) return { kind: 'declined' }
  return { kind: 'refused', word: errorReason }
}
