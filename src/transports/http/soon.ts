/** Here already, or on its way. Promises cost a 402 as much as its terms do: what can be said at once is said at once. */
export type Soon<T> = T | Promise<T>

export function andThen<T, R>(value: Soon<T>, next: (value: T) => Soon<R>): Soon<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
