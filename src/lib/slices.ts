import { createLines } from './lines.ts'
import type { Key } from './shared-room.ts'

/** So long may work keep the event loop to itself: whoever is served between two slices waits no longer for them. */
const SLICE_MS = 5

/** Work that waits for its next slice. */
const lines = createLines<Key, () => void>()
let isScheduled = false

/** One slice a turn of the event loop, so that ten long works take no more of it than one. */
function resumeOne(): void {
  for (const [key, resume] of lines.firsts()) {
    lines.take(key, resume)
    resume()
    break
  }
  isScheduled = !lines.isEmpty()
  if (isScheduled) setImmediate(resumeOne)
}

function nextSlice(key: Key): Promise<void> {
  return new Promise((resolve) => {
    lines.add(key, resolve)
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
