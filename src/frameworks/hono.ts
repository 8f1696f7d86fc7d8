export type {
  AccessClaims,
  AdminGateway,
  AdminOptions,
  EmbeddedGateway,
  RequiredAccess,
  ShopGateway,
  SvcCharge,
  SvcPayment,
} from './embedding.ts'
export { requireAccess } from './hono-access.ts'
export type { PeerOptions } from './hono-context.ts'
export { paystile, paystileAdmin, shopWindow } from './hono-pages.ts'
export { payPerRequest } from './hono-pay.ts'
