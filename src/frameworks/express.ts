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
export { requireAccess } from './express-access.ts'
export { paystile, paystileAdmin, shopWindow } from './express-pages.ts'
export { payPerRequest } from './express-pay.ts'
export type { ExpressErrorHandler, ExpressHandler } from './express-types.ts'
