import { calmPoint, parseId } from './points.ts'
import { runPoint } from './run-point.ts'
import { startSite, startStoreServers } from './site.ts'

async function main(ids: string[]) {
  const stores = ['embedded', 'redis', 'postgres'].filter((s) => ids.some((i) => i.startsWith(s))) as any
  const servers = await startStoreServers(stores)
  const site = await startSite(0)
  for (const id of ids) {
    const point = id.startsWith('calm/') ? calmPoint(id.split('/')[1] as any, id.split('/')[2]!) : parseId(id)
    const r = await runPoint(site, servers, point)
    console.log(id, 'deaths', r.deaths, 'ms', r.ms, r.violations)
    if (point.effect === '') console.log([...r.reached].map(([k, v]) => k + ' x' + v).join('\n'))
    if (r.violations.length) console.log(r.logs.join('\n'))
  }
  await site.stop()
  await servers.stop()
}
await main(process.argv.slice(2))
