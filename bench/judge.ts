export interface Bar {
  /** What is promised. */
  text: string
  measured: string
  pass: boolean
}

export type Judge = (text: string, value: number, limit: number, also?: boolean) => Bar

export const atLeast = (text: string, ratio: number, least: number, also = true): Bar => {
  return {
    text: `${text}: at least ${least}×`,
    measured: `${ratio.toFixed(2)}×`,
    pass: ratio >= least && also,
  }
}

export const atMost = (text: string, value: number, most: number, unit: string, also = true): Bar => {
  const measured = `${value.toFixed(unit === '×' ? 2 : 1)}${unit}`
  return { text: `${text}: at most ${most}${unit}`, measured, pass: value <= most && also }
}
