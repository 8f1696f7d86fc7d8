import type { ResolvedConfig } from '../config/resolved-config.ts'
import { receiptKeys } from '../delivery/receipt-keys.ts'
import type { SecretKeys } from '../delivery/secret-keys.ts'
import { createReceiptSigner, didDocument } from '../delivery/sign-receipts.ts'
import type { Engine } from '../engine/outcome.ts'
import { didDocumentPaths } from '../receipts/did-web.ts'
import type { Catalog } from '../rules/catalog.ts'
import { createReceiptPage } from '../transports/http/receipt-page.ts'
import { signedOffers } from '../transports/http/signed-offers.ts'

/** What signs receipts, and what shows them and the keys that verify them. */
export function buildReceipts(config: ResolvedConfig, secrets: SecretKeys) {
  const { baseUrl, agentName, shopWindow } = config
  const keys = receiptKeys(secrets.receipts, config.receiptPrivateKey)
  const signer = createReceiptSigner(keys, baseUrl)
  return {
    signer,
    /** For every 402. */
    extensions: config.signedOffers ? [signedOffers(signer.sign, baseUrl)] : [],
    /** For the HTTP handler. */
    published: (engine: Pick<Engine, 'inspect' | 'status'>, catalog: Catalog) => ({
      didDocument: didDocument(keys, baseUrl),
      didPaths: didDocumentPaths(baseUrl),
      page: createReceiptPage({
        baseUrl,
        seller: shopWindow?.name ?? agentName,
        logoUrl: shopWindow?.logoUrl ?? null,
        networks: config.networks.map(({ network }) => network),
        catalog,
        engine,
      }),
    }),
  }
}
