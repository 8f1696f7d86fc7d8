import { readdirSync } from 'node:fs'

// Evaluated inside the image, in /app: loads every script there is, so that a missing module or package
// is found here, even if only a rarely used command needs it. Not cli/main.js, which would run.
const failed = []
let count = 0
for (const name of readdirSync('/app/dist', { recursive: true })) {
  if (!name.endsWith('.js') || name.startsWith('ui/') || name === 'cli/main.js') continue
  count++
  await import(`/app/dist/${name}`).catch((error) => failed.push(`${name}: ${error.message}`))
}
// Something that was loaded may keep a timer.
process.stdout.write(JSON.stringify({ count, failed }), () => process.exit())
