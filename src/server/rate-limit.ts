// The limiter lives with the transport that asks it, where gateway.ts may import it.
export { createRateLimit, type RateLimitOptions, type RateVerdict } from '../transports/http/rate-limit.ts'
