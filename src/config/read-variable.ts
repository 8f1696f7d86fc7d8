export type Env = Readonly<Record<string, string | undefined>>
export type ReadFile = (path: string) => string

/** The value of a variable, and how messages name it. */
export type Variable = { label: string } & ({ text: string } | { fault: string })

/** Reads a variable, or the file that `NAME_FILE` names. A blank one counts as not set. */
export function readVariable(name: string, env: Env, readFile: ReadFile): Variable | undefined {
  const text = env[name]?.trim() || undefined
  const file = env[`${name}_FILE`]?.trim() || undefined
  if (file === undefined) return text === undefined ? undefined : { label: name, text }
  if (text !== undefined) return { label: name, fault: `and ${name}_FILE are both set; keep one.` }
  const label = `${name}_FILE`
  try {
    const content = readFile(file).trim()
    return content === ''
      ? { label, fault: `names ${shown(file)}, which is empty.` }
      : { label, text: content }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
    return { label, fault: `names ${shown(file)}, which cannot be read${code}.` }
  }
}

/** A path, made safe for a message of one line. */
function shown(path: string): string {
  const plain = path.replace(/[\p{Cc}\u2028\u2029]/gu, '?')
  return plain.length > 300 ? `${plain.slice(0, 297)}...` : plain
}

/** Whether the environment sets it, even with an invalid value. */
export function isSet(name: string, env: Env): boolean {
  return Boolean(env[name]?.trim() || env[`${name}_FILE`]?.trim())
}

export function quote(text: string): string {
  return JSON.stringify(text.length > 24 ? `${text.slice(0, 21)}...` : text)
}
