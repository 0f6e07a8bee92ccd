import { openSync, readSync } from 'node:fs'
import { expect } from 'chai'

/** CPU time of the JavaScript thread on Linux, in ms: other processes of a busy machine do not distort it. Elsewhere wall time. */
function openClock(): () => number {
  if (process.platform !== 'linux') return () => performance.now()
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
  const bytes = Buffer.alloc(64)
  return () => {
    const size = readSync(file, bytes, 0, bytes.length, 0)
    return Number(bytes.toString('latin1', 0, size).split(' ', 1)[0]) / 1e6
  }
}

let opened: (() => number) | undefined

/** Longest turn of the event loop while `work` runs, in ms of CPU time. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  opened ??= openClock()
  const clock = opened
  let longest = 0
  let last = clock()
  let isOver = false
  const look = () => {
    const now = clock()
    longest = Math.max(longest, now - last)
    last = clock()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  try {
    await work()
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    isOver = true
  }
  return longest
}

/** Cold caches of a busy machine lengthen single measurements: the shortest of several counts. */
const TRIES = 3

/** Asserts that `work` blocks the event loop for at most `most_ms` of CPU time. */
export async function expectShortTurns(most_ms: number, work: () => Promise<unknown>): Promise<void> {
  const turns: number[] = []
  do turns.push(await longestTurn(work))
  while (turns.length < TRIES && Math.min(...turns) > most_ms)
  expect(Math.min(...turns), `the longest turns of ${turns.length} tries`).to.be.at.most(most_ms)
}
