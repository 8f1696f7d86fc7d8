import { createRequire } from 'node:module'
import { Worker } from 'node:worker_threads'

/** Ordinary files repeat a block a few dozen times; a file that unfolds into gigabytes needs more. */
const MAX_ALIASES = 1000
const MAX_MEGABYTES = 1024

const CODE = `
const { parentPort, workerData } = require('node:worker_threads')
const { parse } = require(workerData.yaml)
try {
  const { text, maxAliasCount } = workerData
  parentPort.postMessage({ value: parse(text, { maxAliasCount, merge: true, logLevel: 'error' }) })
} catch (error) {
  parentPort.postMessage({ name: error.name, message: error.message })
}`

export type ParsedYaml = { value: unknown } | { fault: string }

/**
 * Parses in a thread of its own: half a megabyte of YAML can take seconds, in which a gateway would answer nobody, and a
 * hostile file costs no more than `timeoutMs`.
 */
export function parseYaml(text: string, timeoutMs: number): Promise<ParsedYaml> {
  const yaml = createRequire(import.meta.url).resolve('yaml')
  const worker = new Worker(CODE, {
    eval: true,
    workerData: { yaml, text, maxAliasCount: MAX_ALIASES },
    resourceLimits: { maxOldGenerationSizeMb: MAX_MEGABYTES },
    execArgv: [],
  })
  return new Promise((resolve) => {
    const end = (result: ParsedYaml) => {
      clearTimeout(timer)
      void worker.terminate()
      resolve(result)
    }
    const timer = setTimeout(() => {
      end({ fault: 'takes too long to read as YAML; convert it to JSON, or make it smaller.' })
    }, timeoutMs)
    worker.once('message', (said: { value?: unknown; name?: string; message?: string }) => {
      end(said.name === undefined ? { value: said.value } : { fault: faultOf(said.name, said.message ?? '') })
    })
    worker.once('error', () => {
      end({ fault: 'needs too much memory to be read as YAML; convert it to JSON, or make it smaller.' })
    })
  })
}

function faultOf(name: string, message: string): string {
  if (name === 'RangeError' || message.includes('call stack'))
    return 'is nested too deeply to be a description.'
  if (name === 'ReferenceError' && /alias count/i.test(message))
    return 'repeats its parts by YAML aliases too often: it would unfold into too much. Write it without them.'
  return `is no valid YAML: ${message.split('\n')[0]!.replace(/[:.]?$/, '.')}`
}
