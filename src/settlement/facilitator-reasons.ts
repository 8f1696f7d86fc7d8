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

/**
 * Reasons after which the payment may have been sent: a used nonce, a transaction that failed or is not confirmed, or a
 * facilitator that lost its node or does not know itself.
 */
const PERHAPS_SENT =
  /nonce|already|pending|confirm|unexpected|unknown|internal|time.?d?.?out|http|rpc|node|connect|transfer_event|transaction(?!.?simulation)/i

/**
 * The word for a refusal: our code for a known one, otherwise the facilitator's own. Undefined: the payment may have been
 * sent. Not each of the others proves that it was not; but such a payment is watched, and goes back if it arrives beside
 * another, while one whose refusal is not believed would keep its buyer waiting until it expires.
 */
export function refusalWord(errorReason: string): string | undefined {
  for (const [pattern, word] of CERTAIN) if (pattern.test(errorReason)) return word || errorReason
  return PERHAPS_SENT.test(errorReason) ? undefined : errorReason
}
