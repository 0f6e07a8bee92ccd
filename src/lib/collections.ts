/** Groups items into batches of `size`; the last one may be smaller. */
export async function* inBatches<T>(items: AsyncIterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of items) {
    batch.push(item)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Yields the same items, and fetches the next one while the caller works on the current one. */
export async function* prefetch<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]()
  const fetch = () => {
    const fetched = iterator.next()
    // The error is thrown when the item is consumed; until then it must not count as unhandled.
    fetched.catch(() => {})
    return fetched
  }
  let next = fetch()
  try {
    for (;;) {
      const { done, value } = await next
      if (done) return
      next = fetch()
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}

/** Groups items by a key and keeps their order. */
export function groupBy<K, T>(items: Iterable<T>, keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** Looks up a name from outside in a table. Ignores inherited members such as `constructor`. */
export const ownValue = <T>(table: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(table, name) ? table[name] : undefined
