import { LISTS, savedNamesWith } from '../../config/config-file.ts'
import type { Env } from '../../config/read-variable.ts'
import { isSecret } from '../../config/secret-variables.ts'

export interface Snippets {
  env: string
  dockerRun: string
  compose: string
}

const IMAGE = 'paystile:latest'
const SECRET = '<secret>'

/** The configuration as an env file, a docker command and a compose file. Secrets are replaced by placeholders. */
export function snippetsOf(stated: Env, port: number): Snippets {
  const entries = savedNamesWith(stated).flatMap((name): Array<[string, string]> => {
    const file = stated[`${name}_FILE`]?.trim()
    if (file) return [[`${name}_FILE`, file]]
    const text = stated[name]?.trim()
    if (!text) return []
    if (isSecret(name)) return [[name, SECRET]]
    // Inside JSON a quote can be written as an escape, which needs no quoting in shells and env files.
    return [[name, LISTS.has(name) ? text.replaceAll("'", '\\u0027') : text]]
  })
  return { env: envOf(entries), dockerRun: dockerRunOf(entries, port), compose: composeOf(entries, port) }
}

const ADVICE = `# Put each ${SECRET} in yourself, or give NAME_FILE with the path of a file that holds it.`

function envOf(entries: ReadonlyArray<[string, string]>): string {
  const lines = entries.map(([name, value]) => `${name}=${envQuoted(value)}`)
  return `${['# For "docker compose" (env_file) or a shell.', ADVICE, ...lines].join('\n')}\n`
}

/** All readers of such files take single-quoted text literally; a value with a single quote needs double quotes. */
function envQuoted(value: string): string {
  if (/^[A-Za-z0-9_./:@,+-]*$/.test(value)) return value
  if (!value.includes("'")) return `'${value}'`
  return `"${value.replace(/[\\"$`]/g, '\\$&')}"`
}

function dockerRunOf(entries: ReadonlyArray<[string, string]>, port: number): string {
  const lines = [
    'docker run -d --name paystile --restart unless-stopped',
    `-p ${port}:${port} -e PORT=${port}`,
    '-v paystile-data:/data -e DATA_DIR=/data',
    // Longer than the time in which the server finishes payments in flight.
    '--stop-timeout 40 --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges',
    ...entries.map(([name, value]) => `-e ${shellQuoted(`${name}=${value}`)}`),
    IMAGE,
  ]
  return `${ADVICE}\n${lines.join(' \\\n  ')}\n`
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

function composeOf(entries: ReadonlyArray<[string, string]>, port: number): string {
  const environment = [['PORT', String(port)] as const, ['DATA_DIR', '/data'] as const, ...entries]
  return [
    ADVICE,
    'services:',
    '  paystile:',
    `    image: ${IMAGE}`,
    '    restart: unless-stopped',
    '    stop_grace_period: 40s',
    '    read_only: true',
    '    tmpfs: [/tmp]',
    '    cap_drop: [ALL]',
    '    security_opt: ["no-new-privileges:true"]',
    `    ports: ["${port}:${port}"]`,
    '    volumes: ["paystile-data:/data"]',
    '    environment:',
    ...environment.map(([name, value]) => `      ${name}: ${yamlQuoted(value)}`),
    'volumes:',
    '  paystile-data: {}',
    '',
  ].join('\n')
}

/** JSON strings are YAML strings, except for characters at which YAML breaks lines; compose would replace what follows a dollar. */
function yamlQuoted(value: string): string {
  const escaped = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return JSON.stringify(value)
    .replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, escaped)
    .replaceAll('$', '$$$$')
}
