import { openSync, readSync } from 'node:fs'
import { expect } from 'chai'

/** Of the thread that runs JavaScript, where Linux tells it: what others do to a busy machine does not count. */
function processorClock(): () => number {
  if (process.platform !== 'linux') return () => performance.now()
  const file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
  const bytes = Buffer.alloc(64)
  return () => {
    const size = readSync(file, bytes, 0, bytes.length, 0)
    return Number(bytes.toString('latin1', 0, size).split(' ', 1)[0]) / 1e6
  }
}

/** Longest that one turn of the event loop has kept the others waiting while something was done, in milliseconds of processor time. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  const clock = processorClock()
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

/** What is measured beside others on a busy machine is at times too long by what they cost: such a work is done again. */
const TRIES = 3

/** Asserts that something keeps the others waiting no longer than so many milliseconds of processor time at a stretch. */
export async function expectShortTurns(most_ms: number, work: () => Promise<unknown>): Promise<void> {
  const turns: number[] = []
  do turns.push(await longestTurn(work))
  while (turns.length < TRIES && Math.min(...turns) > most_ms)
  expect(Math.min(...turns), `the longest turns of ${turns.length} tries`).to.be.at.most(most_ms)
}
