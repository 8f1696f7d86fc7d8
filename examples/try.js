// node examples/try.js express: a local chain with test USDC, the example as its own process, and a buyer.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBuyer } from 'paystile/buyer'
import { startDevChain } from 'paystile/testing'

const name = process.argv[2] ?? 'express'
const port = process.env.PORT ?? '3000'
const baseUrl = `http://localhost:${port}`
const dataDir = mkdtempSync(join(tmpdir(), 'paystile-example-'))
const chain = await startDevChain()
const seller = chain.account(0)
const example = spawn(process.execPath, [new URL(`./${name}/server.js`, import.meta.url).pathname], {
  stdio: ['ignore', 'pipe', 'inherit'],
  env: {
    PATH: process.env.PATH,
    PORT: port,
    DATA_DIR: dataDir,
    RPC_URL: chain.rpcUrl,
    SVC_WALLET_ADDRESS: seller.address,
    GAS_WALLET_PRIVATE_KEY: chain.account(1).privateKey,
    REFUND_WALLET_PRIVATE_KEY: seller.privateKey,
    TOKEN_SECRET: 'an example secret of more than thirty-two bytes',
    ADMIN_TOKEN: 'an-example-token-of-the-operator',
  },
})
const exited = new Promise((resolve) => example.once('exit', resolve))
try {
  await Promise.race([
    new Promise((listening) => example.stdout.once('data', listening)),
    exited.then((code) => Promise.reject(new Error(`the ${name} example stopped with code ${code}`))),
  ])
  const { account, address } = await chain.newBuyer({ micro: 1_000_000n })
  const buyer = createBuyer({ account, maxAmount: '$0.50' })
  const show = async (what, response) => console.log(`${what}\n  ${response.status} ${await response.text()}`)
  await show('GET /weather/paris, $0.01', await buyer.fetch(`${baseUrl}/weather/paris`))
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"text":"olleh"}' }
  await show('POST /translate, $0.02', await buyer.fetch(`${baseUrl}/translate`, post))
  const { grant } = await buyer.buy(baseUrl, { planId: 'hourly', resourceId: 'forecast' })
  const bearer = { headers: { authorization: `Bearer ${grant.accessToken}` } }
  await show(
    'GET /resource/forecast, with the token of a $0.25 plan',
    await fetch(grant.resourceEndpoint, bearer),
  )
  const operator = { headers: { authorization: 'Bearer an-example-token-of-the-operator' } }
  // The standalone server of the proxy example has its dashboard at /admin, for whoever sets a token.
  if (name !== 'proxy') {
    const { funnel, revenue } = await (await fetch(`${baseUrl}/office/api/overview`, operator)).json()
    console.log(`${baseUrl}/office shows ${funnel.delivered} sales, ${revenue.usd} in all.`)
  }
  console.log(
    `The buyer had $1 and now has ${await chain.balanceOf(address)} micro-USDC; the seller got the rest.`,
  )
} finally {
  example.kill('SIGTERM')
  await exited
  await chain.stop()
  rmSync(dataDir, { recursive: true, force: true })
}
