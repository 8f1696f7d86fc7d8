// Starts the backend, and the standalone gateway in front of it: `paystile serve`, configured by environment variables only.
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { startBackend } from './backend.js'

const secret = process.env.PROXY_SECRET ?? randomBytes(32).toString('hex')
const backend = await startBackend(secret)

const settings = {
  PROXY_TO_BASE_URL: `http://127.0.0.1:${backend.address().port}`,
  PROXY_SECRET: secret,
  ROUTES: JSON.stringify([
    { routeId: 'weather', method: 'GET', path: '/weather/:city', unitAmount: '$0.01' },
    { routeId: 'translate', method: 'POST', path: '/translate', unitAmount: '$0.02' },
    { routeId: 'cities', method: 'GET', path: '/cities', free: true },
  ]),
  PLANS: JSON.stringify([{ planId: 'hourly', unitAmount: '$0.25', description: 'Forecasts for an hour' }]),
}

const cli = fileURLToPath(new URL('./cli/main.js', import.meta.resolve('paystile')))
const gateway = spawn(process.execPath, [cli, 'serve'], {
  env: { ...process.env, ...settings },
  stdio: ['ignore', 'inherit', 'inherit'],
})
process.once('SIGTERM', () => gateway.kill('SIGTERM'))
process.once('SIGINT', () => {}) // The gateway gets the signal too; when it ends, so do we.
gateway.once('exit', (code) => {
  process.exitCode = code ?? 1
  backend.close()
  backend.closeAllConnections()
})
