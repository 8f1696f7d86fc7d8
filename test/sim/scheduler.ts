/** Virtual time: events in the order of their time, each followed by everything that it set in motion. */
export interface Scheduler {
  now(): number
  /** `quiet` events touch no promise, so nothing has to be awaited after them. */
  after(delayMs: number, run: () => void, quiet?: boolean): void
  sleep(ms: number): Promise<void>
  /** Runs until `done` says so, or the queue is empty. */
  run(done: () => boolean): Promise<void>
}

interface Event {
  at: number
  seq: number
  run: () => void
  quiet: boolean
}

export function createScheduler(startMs: number): Scheduler {
  const heap: Event[] = []
  let now = startMs
  let seq = 0

  const before = (a: Event, b: Event): boolean => a.at < b.at || (a.at === b.at && a.seq < b.seq)

  function push(event: Event): void {
    let index = heap.push(event) - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (!before(event, heap[parent]!)) break
      heap[index] = heap[parent]!
      index = parent
    }
    heap[index] = event
  }

  function pop(): Event {
    const top = heap[0]!
    const last = heap.pop()!
    if (heap.length === 0) return top
    let index = 0
    for (;;) {
      let child = 2 * index + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child++
      if (!before(heap[child]!, last)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = last
    return top
  }

  function after(delayMs: number, run: () => void, quiet = false): void {
    push({ at: now + Math.max(0, Math.round(delayMs)), seq: seq++, run, quiet })
  }

  /** A tick that is asked for in a microtask comes once all microtasks have run: what was set in motion is complete. */
  const settled = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve))

  return {
    now: () => now,
    after,
    sleep: (ms) => new Promise((resolve) => after(ms, resolve)),
    async run(done) {
      // Otherwise what began before would wait for the first event that is not quiet.
      await settled()
      while (heap.length > 0 && !done()) {
        const event = pop()
        now = event.at
        event.run()
        if (!event.quiet) await settled()
      }
    },
  }
}
