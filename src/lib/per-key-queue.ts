/** A queue for each key. Keys are served round-robin, the items of a key in order of arrival. */
export interface PerKeyQueue<K, T> {
  isEmpty(): boolean
  /** An item must not be added twice. */
  add(key: K, item: T): void
  /**
   * The head of each queue, starting with the key whose turn it is. A key that is served during the iteration moves to
   * the end.
   */
  heads(): Iterable<readonly [key: K, item: T]>
  /** Removes an item that is served, and moves its key to the end of the round. False if the item is absent. */
  take(key: K, item: T): boolean
  /** Removes an item that gave up; its key keeps its place in the round. */
  remove(key: K, item: T): boolean
}

export function createPerKeyQueue<K, T>(): PerKeyQueue<K, T> {
  /** In round-robin order. */
  const lines = new Map<K, Set<T>>()

  function remove(key: K, item: T): boolean {
    const line = lines.get(key)
    if (!line?.delete(item)) return false
    if (line.size === 0) lines.delete(key)
    return true
  }

  function* firsts(): Generator<readonly [K, T]> {
    for (const [key, line] of lines) {
      const [first] = line
      yield [key, first as T]
    }
  }

  return {
    isEmpty: () => lines.size === 0,
    add(key, item) {
      const line = lines.get(key) ?? new Set()
      lines.set(key, line.add(item))
    },
    heads: firsts,
    take(key, item) {
      const line = lines.get(key)
      if (!line || !remove(key, item)) return false
      if (lines.delete(key)) lines.set(key, line)
      return true
    },
    remove,
  }
}
