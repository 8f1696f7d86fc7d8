import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath, pathToFileURL } from 'node:url'

// Evaluated inside the image, in /app: every module that any of our scripts imports must be there, also where only a rare
// command needs it. Types are gone after the build, so what is left is really loaded.
const folder = '/app/dist/'
const IMPORT = /^\s*(?:import|export)\b[^'"()]*?['"]([^'"]+)['"]|\bimport\(\s*['"]([^'"]+)['"]\s*\)/gm
const missing = []
let count = 0
for (const name of readdirSync(folder, { recursive: true })) {
  if (!name.endsWith('.js') || name.startsWith('ui/')) continue
  const from = pathToFileURL(folder + name)
  for (const [, stated, dynamic] of readFileSync(from, 'utf8').matchAll(IMPORT)) {
    count++
    if (!isThere(stated ?? dynamic, from)) missing.push(`${name} imports ${stated ?? dynamic}`)
  }
}
console.log(JSON.stringify({ count, missing }))

function isThere(specifier, from) {
  if (specifier.startsWith('.')) return existsSync(new URL(specifier, from))
  try {
    const url = import.meta.resolve(specifier)
    return !url.startsWith('file:') || existsSync(fileURLToPath(url))
  } catch {
    return false
  }
}
