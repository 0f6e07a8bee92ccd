import type { Key } from './shared-room.ts'

/** So long may work keep the event loop to itself: whoever is served between two slices waits no longer for them. */
const SLICE_MS = 5

/** Work that has to wait, by key; whose turn it is next comes first. */
const lines = new Map<Key, (() => void)[]>()
let isScheduled = false

/** One slice a turn of the event loop, so that ten long works take no more of it than one. */
function resumeOne(): void {
  const [first] = lines
  if (!first) return
  const [key, line] = first
  const resume = line.shift()
  lines.delete(key)
  if (line.length > 0) lines.set(key, line)
  isScheduled = lines.size > 0
  if (isScheduled) setImmediate(resumeOne)
  resume?.()
}

function nextSlice(key: Key): Promise<void> {
  return new Promise((resolve) => {
    const line = lines.get(key) ?? []
    line.push(resolve)
    lines.set(key, line)
    if (isScheduled) return
    isScheduled = true
    setImmediate(resumeOne)
  })
}

/**
 * For work that would keep the event loop to itself, as validating 1,000 sales. It is to be called, and awaited, after each
 * small part: the first time, and whenever a slice is over, it waits for the next one, in which others were served. All long
 * work of the process is done in such slices, by keys in turns.
 */
export function createSlices(key: Key): () => Promise<void> {
  let ends = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() < ends) return
    await nextSlice(key)
    ends = performance.now() + SLICE_MS
  }
}
