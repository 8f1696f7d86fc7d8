import type fc from 'fast-check'

/** A part of the gateway that takes what strangers send. */
export interface Target {
  name: string
  /** Of a run over all targets, so many inputs in a hundred. */
  share: number
  open(): Promise<OpenTarget<unknown>>
}

export interface OpenTarget<Input> {
  inputs: fc.Arbitrary<Input>
  /** Throws when the gateway did what it must never do; answers in a word what it did. */
  check(input: Input): string | Promise<string>
  close?(): Promise<void>
}

/** Keeps the type of the inputs between the two halves of a target. */
export function openTarget<Input>(target: OpenTarget<Input>): OpenTarget<unknown> {
  return target as OpenTarget<unknown>
}

export function fault(what: string): never {
  throw new Error(what)
}
