/**
 * Shows what is being done if it takes a while: on a terminal with the seconds, elsewhere in one line.
 *
 * @template T
 * @param {string} what
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withProgress(what, work) {
  const startedMs = performance.now()
  const seconds = () => Math.round((performance.now() - startedMs) / 1000)
  const { isTTY } = process.stdout
  let told = false
  const timer = setInterval(() => {
    if (isTTY) process.stdout.write(`\r${what}: ${seconds()} s `)
    else if (!told) console.log(`${what}…`)
    told = true
  }, 1000)
  try {
    return await work()
  } finally {
    clearInterval(timer)
    if (told) console.log(`${isTTY ? '\r' : ''}${what}: done after ${seconds()} s`)
  }
}
