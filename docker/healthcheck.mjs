import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readVariable } from '../dist/config/read-variable.js'

// Exit code 0 if the server answers /health below the path of its base URL; otherwise 1 and one line with the reason.
const read = (name) => readVariable(name, process.env, (path) => readFileSync(path, 'utf8'))?.text
const port = read('PORT') ?? '3000'
const url = `http://127.0.0.1:${port}${basePath()}/health`
try {
  const answer = await fetch(url, { signal: AbortSignal.timeout(8_000) })
  const text = await answer.text()
  if (answer.status !== 200) fail(`${answer.status} ${text}`)
  console.log(text)
} catch (error) {
  fail(error.cause?.message ?? error.message)
}

function basePath() {
  const baseUrl = read('BASE_URL') ?? savedBaseUrl()
  return baseUrl !== undefined && URL.canParse(baseUrl) ? new URL(baseUrl).pathname.replace(/\/+$/, '') : ''
}

/** The values that the setup page saved, if any. */
function savedBaseUrl() {
  try {
    const path = join(read('DATA_DIR') ?? './data', 'config.json')
    const saved = JSON.parse(readFileSync(path, 'utf8')).values?.BASE_URL
    return typeof saved === 'string' ? saved : undefined
  } catch {
    return undefined
  }
}

function fail(why) {
  console.error(`${url}: ${why}`)
  process.exit(1)
}
