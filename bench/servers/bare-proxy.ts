import fastify from 'fastify'
import { Pool } from 'undici'

/** A proxy that only forwards: Fastify in front, undici's pool behind. What a prepaid call costs is compared with it. */
const { PORT, BACKEND_URL } = process.env
const pool = new Pool(BACKEND_URL!, { connections: 128 })

/** Of one connection, or set anew by whoever writes the message. */
const NOT_FORWARDED = new Set(['host', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'])

const forwarded = (headers: Readonly<Record<string, string | string[] | undefined>>) => {
  const kept: Record<string, string | string[]> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && !NOT_FORWARDED.has(name)) kept[name] = value
  return kept
}

const app = fastify()
app.get('/paid', async (request, reply) => {
  const headers = forwarded(request.headers)
  const answer = await pool.request({ path: request.url, method: 'GET', headers })
  // Read whole, as ours is.
  const body = Buffer.from(await answer.body.arrayBuffer())
  return reply.code(answer.statusCode).headers(forwarded(answer.headers)).send(body)
})
app.get('/', async () => ({ ok: true }))
await app.listen({ port: Number(PORT), host: '127.0.0.1' })
process.once('SIGTERM', () => process.exit(0))
