const long = process.env.PAYSTILE_TEST_LENGTH === 'long'

/** How often to repeat what gets surer the longer it runs: few times for `npm test`, many for `npm test -- --long`. */
export function repetitions({ few, many }: { few: number; many: number }): number {
  return long ? many : few
}
