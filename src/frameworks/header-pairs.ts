/** The headers that `writeHead` is given: an object, a list of names and values in turn, or a list of pairs. */
export function headerPairs(given: object): Array<[string, string | number | readonly string[]]> {
  if (!Array.isArray(given)) return Object.entries(given).filter(([, value]) => value !== undefined)
  if (given.every((one) => Array.isArray(one))) return given as Array<[string, string]>
  return given.flatMap((name, at) => (at % 2 === 0 ? [[String(name), given[at + 1]]] : []))
}
