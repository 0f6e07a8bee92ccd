/** Items so many at a time, fewer at the end. */
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

/** The same items, of which the next one is fetched while one is worked on. */
export async function* ahead<T>(items: AsyncIterable<T>): AsyncGenerator<T> {
  const iterator = items[Symbol.asyncIterator]()
  const fetch = () => {
    const fetched = iterator.next()
    // Heard of at its turn, if it comes to that.
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
