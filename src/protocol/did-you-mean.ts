/** Longer than every known name, so it is not a misspelt one; comparing long texts would take long. */
const MAX_LENGTH = 100

/** The known word that is most similar to a misspelt one; undefined if none differs in at most `edits` letters. */
export function nearest(
  word: string,
  known: readonly string[],
  edits = Math.max(2, Math.floor(word.length / 4)),
): string | undefined {
  if (word.length > MAX_LENGTH) return undefined
  const typed = word.toLowerCase()
  let best: { word: string; distance: number } | undefined
  for (const candidate of known) {
    // So many letters would have to be added or left out. To compare takes long, and a start compares the whole environment.
    if (Math.abs(candidate.length - typed.length) > edits) continue
    const distance = editDistance(typed, candidate.toLowerCase(), edits)
    if (!best || distance < best.distance) best = { word: candidate, distance }
  }
  return best && best.distance <= edits ? best.word : undefined
}

/** `; did you mean "walletAddress"?`, or nothing. */
export function didYouMean(word: string, known: readonly string[]): string {
  const guess = nearest(word, known)
  return guess === undefined ? '' : `; did you mean "${guess}"?`
}

/** Infinity as soon as it is certain to be more than `most`. */
function editDistance(a: string, b: string, most: number): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1))
    }
    if (Math.min(...next) > most) return Number.POSITIVE_INFINITY
    row = next
  }
  return row[b.length]!
}
