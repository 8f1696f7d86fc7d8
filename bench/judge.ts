export interface Bar {
  /** What is promised. */
  text: string
  measured: string
  pass: boolean
  /** What we want to reach beyond the promise, where the promise is less. */
  goal?: { text: string; reached: boolean }
}

interface Beside {
  /** What must hold as well, such as that no request failed. */
  also?: boolean
  goal?: number
}

export type Judge = (text: string, value: number, limit: number, beside?: Beside) => Bar

export const atLeast: Judge = (text, ratio, least, { also = true, goal } = {}) => ({
  text: `${text}: at least ${least}×`,
  measured: `${ratio.toFixed(2)}×`,
  pass: ratio >= least && also,
  ...(goal !== undefined && { goal: { text: `${goal}×`, reached: ratio >= goal && also } }),
})

export const atMost =
  (unit: string): Judge =>
  (text, value, most, { also = true, goal } = {}) => ({
    text: `${text}: at most ${most}${unit}`,
    measured: `${value.toFixed(unit === '×' ? 3 : 1)}${unit}`,
    pass: value <= most && also,
    ...(goal !== undefined && { goal: { text: `${goal}${unit}`, reached: value <= goal && also } }),
  })
