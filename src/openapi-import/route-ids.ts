const MAX_LENGTH = 128

/** Names routes: after their operationId, else after method and path; never with an id that is taken. */
export function createNamer(
  taken: readonly string[],
): (operation: { operationId: string | undefined; method: string; path: string }) => string {
  const used = new Set(taken)
  return ({ operationId = '', method, path }) => {
    const own = valid(operationId)
    const plain = valid(`${method.toLowerCase()}${path.replaceAll('/', '-').replaceAll(':', '')}`)
    const wanted = own !== '' && !used.has(own) ? own : plain
    let id = wanted
    for (let count = 2; used.has(id); count++) {
      id = `${wanted.slice(0, MAX_LENGTH - String(count).length - 1)}-${count}`
    }
    used.add(id)
    return id
  }
}

const valid = (text: string): string =>
  text
    .replace(/[^A-Za-z0-9._:-]+/g, '-')
    .replace(/^[-.]+|[-.]+$/g, '')
    .slice(0, MAX_LENGTH)
