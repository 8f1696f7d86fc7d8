import type { Route } from '../protocol/catalog.ts'
import { overlaps, parsePattern, patternFault, type RoutePattern } from '../rules/route-pattern.ts'
import type { Candidate, NotImported } from './planned-route.ts'
import { microOf, priceWords } from './read-price.ts'

/**
 * One path has one price, so of two routes that match the same path one is left out: the one that is not there yet, then the
 * cheaper one, then the one whose calls the other serves as well (`/pets/new` beside `/pets/:id`), then the later one.
 */
export function leaveOverlaps(
  candidates: readonly Candidate[],
  others: readonly Route[],
): { kept: Candidate[]; left: NotImported[] } {
  const left: NotImported[] = []
  let kept: Candidate[] = []
  const fixed = others.flatMap((route) =>
    patternFault(route.path) === undefined ? [{ route, pattern: parsePattern(route.path) }] : [],
  )
  for (const one of candidates) {
    const meets = (other: { route: { method: string }; pattern: RoutePattern }) =>
      other.route.method === one.route.method && overlaps(other.pattern, one.pattern)
    const own = fixed.find(meets)
    if (own) {
      left.push(leftOut(one, `overlaps your route ${own.route.routeId} (${own.route.path})`))
      continue
    }
    const rivals = kept.filter(meets)
    const winner = rivals.find((rival) => isBefore(rival, one))
    if (winner) {
      left.push(leftOut(one, reasonOf(winner, one)))
      continue
    }
    for (const rival of rivals) left.push(leftOut(rival, reasonOf(one, rival)))
    kept = [...kept.filter((other) => !rivals.includes(other)), one]
  }
  return { kept, left }
}

/** Whether `earlier` stays and `later` is left out. */
function isBefore(earlier: Candidate, later: Candidate): boolean {
  const [here, there] = [earlier.kind !== 'added', later.kind !== 'added']
  if (here !== there) return here
  if (earlier.price && later.price) {
    const difference = microOf(earlier.price) - microOf(later.price)
    if (difference !== 0n) return difference > 0n
  }
  return covers(earlier.pattern, later.pattern) || !covers(later.pattern, earlier.pattern)
}

/** Every path of the second is one of the first, too. */
function covers(first: RoutePattern, second: RoutePattern): boolean {
  return first.segments.every((segment, index) => {
    const other = second.segments[index]!
    return 'param' in segment || ('literal' in other && other.literal === segment.literal)
  })
}

function reasonOf(winner: Candidate, loser: Candidate): string {
  const { routeId, path } = winner.route
  if (!covers(winner.pattern, loser.pattern)) {
    return `overlaps ${path} (route ${routeId}): one path would have two prices. Import it alone, with --skip for the other`
  }
  const price = winner.price ? `, for ${priceWords(winner.price)}` : ''
  return `is matched by ${path} too, and one path has one price: its calls are sold as route ${routeId}${price}`
}

const leftOut = ({ route: { method, path } }: Candidate, reason: string): NotImported => ({
  method,
  path,
  reason,
})
