import { callsAt } from './frameworks-buyer.ts'
import { type App, ROUTES, Seller } from './frameworks-seller.ts'
import { startWorld } from './world.ts'

/** A seller's app with the gateway in it, or behind it, on a chain of its own, and a buyer of its calls. */
export async function startSellerWorld(prepare: App['prepare'], basePath = '') {
  const seller = new Seller()
  const { start, options } = await prepare(seller)
  const world = await startWorld({
    basePath,
    serve: (gateway, port) => start({ gateway, seller, basePath, port }),
    options: { routes: ROUTES, refundMinAgeSeconds: 2, ...options },
  })
  const origin = new URL(world.baseUrl).origin
  return { world, seller, origin, calls: callsAt(world, origin) }
}

export type SellerWorld = Awaited<ReturnType<typeof startSellerWorld>>
