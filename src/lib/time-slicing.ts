import type { ShareKey } from './fair-share-limiter.ts'
import { createPerKeyQueue } from './per-key-queue.ts'

/** Longest a slice may block the event loop, in ms. Bounds the latency that long jobs add to other requests. */
const SLICE_MS = 5

/** Jobs waiting for their next slice. */
const lines = createPerKeyQueue<ShareKey, () => void>()
let isScheduled = false

/** Resumes one job per turn of the event loop, so that ten long jobs take no more of it than one. */
function resumeOne(): void {
  for (const [key, resume] of lines.heads()) {
    lines.take(key, resume)
    resume()
    break
  }
  isScheduled = !lines.isEmpty()
  if (isScheduled) setImmediate(resumeOne)
}

function nextSlice(key: ShareKey): Promise<void> {
  return new Promise((resolve) => {
    lines.add(key, resolve)
    if (isScheduled) return
    isScheduled = true
    setImmediate(resumeOne)
  })
}

/**
 * Time slicing for long synchronous work, such as validating 1,000 sales. Await the returned function after each small
 * step: it yields once the slice is over. All long jobs of the process share the slices, round-robin by key.
 */
export function createTimeSlicer(key: ShareKey): () => Promise<void> {
  let ends = Number.NEGATIVE_INFINITY
  return async () => {
    if (performance.now() < ends) return
    await nextSlice(key)
    ends = performance.now() + SLICE_MS
  }
}
