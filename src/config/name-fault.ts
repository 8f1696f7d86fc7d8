import { VARIABLES } from './from-env.ts'
import { SERVER_VARIABLES } from './server-variables.ts'

/** A fault and the variable that it is about; null when it is about none in particular. */
export interface Fault {
  name: string | null
  message: string
}

/** Every line of configuration begins with the variable that it complains of, or with its `NAME_FILE`. */
export function nameFault(message: string): Fault {
  const [word = ''] = /^[A-Z][A-Z0-9_]*/.exec(message) ?? []
  const known = (name: string) => Object.hasOwn(VARIABLES, name) || Object.hasOwn(SERVER_VARIABLES, name)
  const name = [word, word.replace(/_FILE$/, '')].find(known)
  return { name: name ?? null, message }
}
