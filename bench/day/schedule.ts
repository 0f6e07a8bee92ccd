import type { Asked } from '../calls.ts'
import { CALLED, callsADay, HABITS, meanOf, SIZES, shareOfMinute } from '../model/workload.ts'

/** Simulated day of many companies, minute by minute; pure, and equal for equal seeds. */

/** Call of a company with its position in the minute (0 to 1). */
export interface Scheduled {
  readonly at: number
  readonly kind: Asked
  /** Position of the company among all. */
  readonly company: number
}

export interface Day {
  readonly companies: number
  /** Share of the calls that are played; 0.5 skips every other one. */
  readonly share: number
  readonly seed: number
}

const GOLDEN = 0.618_033_988_749_895
const SILVER = 0.414_213_562_373_095

/** Size class of a company by its position: every range of positions contains all classes by their shares. */
export function sizeOf(place: number): number {
  let left = ((place + 1) * GOLDEN) % 1
  for (const [index, { share }] of SIZES.entries()) {
    if (left < share) return index
    left -= share
  }
  return SIZES.length - 1
}

/** Whether a company receives webhooks of its sales. */
export const isTold = (place: number): boolean =>
  ((place + 1) * SILVER) % 1 < Math.min(1, SIZES[sizeOf(place)]?.integrators ?? 0)

/** Companies of each class. */
export function placesOfSizes(companies: number): readonly (readonly number[])[] {
  const places: number[][] = SIZES.map(() => [])
  for (let place = 0; place < companies; place++) places[sizeOf(place)]?.push(place)
  return places
}

/** Calls of a minute (0 to 1439), in order. */
export function callsOfMinute(
  { companies, share, seed }: Day,
  places: readonly (readonly number[])[],
  minute: number,
): Scheduled[] {
  const random = randomOf(seed * 2_000 + minute)
  const calls: Scheduled[] = []
  for (const kind of CALLED) {
    const expected =
      companies * share * shareOfMinute(kind, minute) * meanOf(SIZES, (each) => callsADay(each, HABITS)[kind])
    const count = Math.floor(expected + random())
    for (let call = 0; call < count; call++) {
      const ofClass = places[classOf(kind, random())] ?? []
      const company = ofClass[Math.floor(random() * ofClass.length)]
      if (company !== undefined) calls.push({ at: random(), kind, company })
    }
  }
  return calls.sort((a, b) => a.at - b.at)
}

/** Draws a class, weighted by the calls of the whole class. */
function classOf(kind: Asked, random: number): number {
  let left = random * meanOf(SIZES, (size) => callsADay(size, HABITS)[kind])
  for (const [index, size] of SIZES.entries()) {
    left -= size.share * callsADay(size, HABITS)[kind]
    if (left < 0) return index
  }
  return SIZES.length - 1
}

/** Random numbers from 0 to below 1 (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
