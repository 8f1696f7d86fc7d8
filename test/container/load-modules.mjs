import { readdirSync } from 'node:fs'

// Evaluated inside the image, in /app: loads every script there is, so that a module or package that only a rare command
// needs is missed here and not there. The command line itself would run.
const failed = []
let count = 0
for (const name of readdirSync('/app/dist', { recursive: true })) {
  if (!name.endsWith('.js') || name.startsWith('ui/') || name === 'cli/main.js') continue
  count++
  await import(`/app/dist/${name}`).catch((error) => failed.push(`${name}: ${error.message}`))
}
// Something that was loaded may keep a timer.
process.stdout.write(JSON.stringify({ count, failed }), () => process.exit())
