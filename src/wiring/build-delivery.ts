import { explorerOf } from '../config/explorer-of.ts'
import type { ResolvedConfig } from '../config/resolved-config.ts'
import type { GrantPlaces } from '../delivery/grant.ts'
import type { Jwks } from '../delivery/jwks.ts'
import { noCredentials, refuseEveryBearer } from '../delivery/no-credential.ts'
import type { Seal } from '../delivery/seal.ts'
import type { VerifyBearer } from '../delivery/verify-bearer.ts'
import type { Alerts, Delivery } from '../ports.ts'

interface Built {
  delivery: Delivery
  verifyBearer: VerifyBearer
  jwks?: Jwks | undefined
}

/** The credential step that the seller chose. Only its modules are loaded. */
export async function buildDelivery(config: ResolvedConfig, seal: Seal, alerts: Alerts): Promise<Built> {
  const { credential, plans } = config
  const places: GrantPlaces = {
    resourceEndpoint: config.resourceEndpoint,
    explorerTxUrl: explorerOf(config),
  }
  const sealed = { seal, places, alerts }
  const verifyBearer = refuseEveryBearer
  switch (credential.kind) {
    case 'callback': {
      const { createCallbackDelivery } = await import('../delivery/issue-by-callback.ts')
      return { delivery: createCallbackDelivery({ ...sealed, ...credential }), verifyBearer }
    }
    case 'api': {
      const { createApiDelivery } = await import('../delivery/issue-by-api.ts')
      return { delivery: createApiDelivery({ ...sealed, ...credential, plans }), verifyBearer }
    }
    case 'none':
      return { delivery: noCredentials, verifyBearer }
    default: {
      const [{ createJwtDelivery }, { sharedSecretKeys, rsaKeys }, { publicJwks }, { createVerifyBearer }] =
        await Promise.all([
          import('../delivery/issue-jwt.ts'),
          import('../delivery/token-keys.ts'),
          import('../delivery/jwks.ts'),
          import('../delivery/verify-bearer.ts'),
        ])
      const tokens =
        credential.kind === 'hs256' ? sharedSecretKeys(credential.secret) : rsaKeys(credential.pem)
      const { baseUrl: issuer, resourceEndpoint, tokenTtlSeconds } = config
      return {
        delivery: createJwtDelivery({ keys: tokens, issuer, tokenTtlSeconds, plans, places }),
        verifyBearer: createVerifyBearer({ keys: tokens, issuer, resourceEndpoint }),
        jwks: publicJwks(tokens),
      }
    }
  }
}
