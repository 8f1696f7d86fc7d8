/**
 * Refusals that a facilitator can give only before it sends anything, in both vocabularies (the x402 library's and
 * CDP's), mapped to the codes of simulations. Any other reason may hide a transaction (a used nonce, a failed or
 * unconfirmed transaction, a wallet that could not be deployed, an unexpected error) and proves nothing. The library's
 * reasons about Permit2 are left out: facilitators get EIP-3009 authorizations from us.
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
 * Reasons after which the payment may have been sent: a used nonce, a transaction that failed or is not confirmed.
 */
const PERHAPS_SENT = /nonce|already|pending|unconfirmed|unexpected|transfer_event|transaction_(?!simulation)/

/** Is this a refusal, even if it does not prove that nothing was sent? */
export function saysNo(errorReason: string): boolean {
  return !PERHAPS_SENT.test(errorReason)
}

/** Our code for a refusal that proves that nothing was sent; undefined if it does not prove that. */
export function certainRefusal(errorReason: string): string | undefined {
  for (const [pattern, word] of CERTAIN) if (pattern.test(errorReason)) return word || errorReason
  return undefined
}
