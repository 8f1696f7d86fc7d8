import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cliProcess } from '../e2e/cli-terminal.ts'
import { compareBooks } from './books.ts'
import { startLoad } from './load.ts'
import { type Scenario, seconds, unknownOf, verdictOf } from './scenario.ts'
import { openShop } from './shop.ts'

/**
 * The embedded store is backed up while it sells, the server dies with SIGKILL some sales later, and the backup takes the
 * place of the store. What was sold before it is there; what was paid since is named by reconcile, payment by payment.
 */
export const restore: Scenario = async ({ buyers, purchases }) => {
  const folder = await mkdtemp(join(tmpdir(), 'paystile-restore-'))
  const shop = await openShop({ DATA_DIR: join(folder, 'data') })
  const paystile = async (...argv: string[]) => {
    const { code, errors } = await cliProcess(shop.env, ...argv)
    if (code !== 0) throw new Error(`paystile ${argv[0]} ended with ${code}: ${errors}`)
  }
  try {
    await shop.open()
    // Commands ask the server at its port.
    shop.env.PORT = String(shop.instances[0]!.port)
    const load = await startLoad(shop, buyers, { mayForget: true })
    await load.answered(purchases)
    const file = join(folder, 'shop.backup')
    const begunAt = Date.now()
    await paystile('backup', file)
    const backupMs = Date.now() - begunAt
    await load.answered(purchases / 2)
    const underWay = load.open().length
    await shop.instances[0]!.end('SIGKILL')
    await paystile('restore', file, '--force')
    await shop.replace(0, 'SIGKILL')
    await load.answered(purchases)
    await load.end()
    const books = await compareBooks(shop, load.purchases)
    const before = books.forgotten.filter(({ decidedAt }) => decidedAt! < begunAt)
    return verdictOf(
      'restore',
      books,
      [
        `backed up in ${seconds(backupMs)} while it sold`,
        `${underWay} under way when the server was killed`,
        unknownOf(books),
      ],
      before.map(({ body }) => `${body.requestId} was sold before the backup and is forgotten`),
    )
  } finally {
    await shop.stop()
    await rm(folder, { recursive: true, force: true })
  }
}
