import { createContext } from 'preact'
import { useContext, useEffect, useMemo, useState } from 'preact/hooks'
import { setUnsaved } from '../shared/unsaved.ts'
import type { CheckAnswer, FieldCheck, SetupInput, SetupState } from '../shared/wire.ts'
import { DURATION_HELP, secondsOf } from './duration.ts'
import {
  type Choices,
  type FormState,
  filledPlans,
  filledRoutes,
  formFrom,
  inputOf,
  isDuration,
  type PlanRow,
  type RouteRow,
} from './form-state.ts'
import { missingWords } from './missing-words.ts'
import { type RowMessage, rowMessages } from './row-messages.ts'
import { useCheck } from './use-check.ts'

/** What a field needs: its value, the server's message about it, and a function to change it. */
export interface Setup {
  state: SetupState
  form: FormState
  input: SetupInput
  answer: CheckAnswer | undefined
  checking: boolean
  /** Set after the first attempt to save: from then on, missing settings are also shown at their fields. */
  attempted: boolean
  lastEdited: string
  set(name: string, value: string): void
  setSecret(name: string, value: string | null | undefined): void
  setPlans(rows: PlanRow[]): void
  setRoutes(rows: RouteRow[]): void
  choose<K extends keyof Choices>(group: K, side: Choices[K]): void
  attempt(): void
  isLocked(name: string): boolean
  messageOf(name: string): FieldCheck | undefined
  rowMessagesOf(name: 'PLANS' | 'ROUTES'): RowMessage[]
}

export const SetupContext = createContext<Setup | undefined>(undefined)

export function useSetupContext(): Setup {
  const setup = useContext(SetupContext)
  if (!setup) throw new Error('a field stands outside the setup form')
  return setup
}

export function useSetup(state: SetupState): Setup {
  const [form, setForm] = useState(() => formFrom(state))
  const [attempted, setAttempted] = useState(false)
  const [lastEdited, setLastEdited] = useState('')
  const input = useMemo(() => inputOf(form, state), [form, state])
  const { answer, checking } = useCheck(input)
  useUnsaved(input)

  const change = (edited: string, part: (form: FormState) => Partial<FormState>): void => {
    setLastEdited(edited)
    setForm((old) => ({ ...old, ...part(old) }))
  }
  const keysOf = (name: 'PLANS' | 'ROUTES'): number[] =>
    (name === 'PLANS' ? filledPlans(form.plans) : filledRoutes(form.routes)).map((row) => row.key)

  return {
    state,
    form,
    input,
    answer,
    checking,
    attempted,
    lastEdited,
    set: (name, value) => change(name, (old) => ({ values: { ...old.values, [name]: value } })),
    setSecret: (name, value) =>
      change(name, (old) => {
        const { [name]: _gone, ...others } = old.secrets
        return { secrets: value === undefined ? others : { ...others, [name]: value } }
      }),
    setPlans: (plans) => change('PLANS', () => ({ plans })),
    setRoutes: (routes) => change('ROUTES', () => ({ routes })),
    choose: (group, side) => change(group, (old) => ({ choices: { ...old.choices, [group]: side } })),
    attempt: () => setAttempted(true),
    isLocked: (name) => state.locked.includes(name),
    messageOf: (name) =>
      isNoTime(name, form.values[name] ?? '')
        ? { level: 'error', message: DURATION_HELP }
        : messageOf(name, answer, attempted),
    rowMessagesOf: (name) => rowMessages(name, answer, keysOf(name), attempted),
  }
}

const isNoTime = (name: string, text: string): boolean =>
  isDuration(name) && text.trim() !== '' && secondsOf(text) === undefined

/** The form is unsaved while it differs from how it was first shown. */
function useUnsaved(input: SetupInput): void {
  const [shown] = useState(() => JSON.stringify(input))
  useEffect(() => setUnsaved(JSON.stringify(input) !== shown), [input, shown])
  useEffect(() => () => setUnsaved(false), [])
}

function messageOf(
  name: string,
  answer: CheckAnswer | undefined,
  attempted: boolean,
): FieldCheck | undefined {
  if (!answer) return undefined
  const fault = answer.faults.find((found) => found.name === name)
  if (fault) return { level: 'error', message: withoutName(name, fault.message) }
  const missing = answer.missing.find((found) => found.name !== null && isMissing(name, found.name))
  if (missing) return attempted ? { level: 'error', message: missingWords(missing) } : undefined
  const check = answer.fields[name]
  return check && { ...check, message: withoutName(name, check.message) }
}

/** Of several alternatives the server reports the first as missing; the message is shown at the one that is chosen. */
const OTHER_WAYS: Record<string, readonly string[]> = {
  TOKEN_SECRET: ['TOKEN_PRIVATE_KEY', 'ISSUE_TOKEN_API'],
}

const isMissing = (name: string, missing: string): boolean =>
  name === missing || OTHER_WAYS[missing]?.includes(name) === true

/** The label is shown above the field, so a message at the field need not repeat its name. */
function withoutName(name: string, message: string): string {
  if (!message.startsWith(`${name} `) || /^(and|or) /.test(message.slice(name.length + 1))) return message
  const rest = message.slice(name.length + 1)
  return rest.charAt(0).toUpperCase() + rest.slice(1)
}
