import type { Plan } from '../protocol/catalog.ts'
import type { OptionReader } from './option-reader.ts'
import type { CredentialConfig } from './resolved-config.ts'

/** Credits are spent with the token that was bought, so it must be one that this gateway can check. */
export function checkCredits(
  reader: OptionReader,
  plans: readonly Plan[],
  credential: CredentialConfig,
): void {
  if (credential.kind !== 'callback' && credential.kind !== 'api') return
  const foreign = reader.label(credential.kind === 'api' ? 'issueTokenApi' : 'fetchResourceCredentials')
  const own = `${reader.label('tokenSecret')} or ${reader.label('tokenPrivateKey')}`
  plans.forEach(({ planId, credits }, index) => {
    if (credits === undefined) return
    reader.faults.push(
      `${reader.label('plans')}[${index}].credits: plan ${planId} grants credits, which are spent with the built-in token, and ${foreign} makes another. Set ${own} instead of ${foreign}, or take credits out.`,
    )
  })
}
