/** Those who wait, in a line for each key. Keys are served in turns, a line to who came first. */
export interface Lines<K, T> {
  isEmpty(): boolean
  /** Nothing may wait twice. */
  add(key: K, item: T): void
  /** The first of each line, beginning with the key whose turn it is. A key that is served meanwhile comes again after the others. */
  firsts(): Iterable<readonly [key: K, item: T]>
  /** Takes one out of its line, if it is there. Who is served first has the key wait until each other one was. */
  take(key: K, item: T): boolean
  /** The same without having been served: the key keeps its place. */
  remove(key: K, item: T): boolean
}

export function createLines<K, T>(): Lines<K, T> {
  /** In the order of their turns. */
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
    firsts,
    take(key, item) {
      const line = lines.get(key)
      if (!line || !remove(key, item)) return false
      if (lines.delete(key)) lines.set(key, line)
      return true
    },
    remove,
  }
}
