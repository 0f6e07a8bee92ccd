import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'

const IN_PAGE = readFileSync(new URL('keyboard.js', import.meta.url), 'utf8')

interface Stop {
  readonly number: number
  readonly name: string
  readonly shown: boolean
  readonly inSight: boolean
}

/** Extra stops for scrollable boxes: browsers make them focusable without an attribute. */
const MORE_PRESSES = 50
/** Tab presses to leave a field of date and time: six parts and the calendar. */
const PRESSES_PER_STOP = 8

/**
 * Moves through the page, a part of it or the open dialog with the Tab key, from start to end. Fails unless every link,
 * button and field is reached and shows a visible focus in the viewport. Returns the stops in order, as `link "text"`.
 */
export async function tabThrough(page: Page, part = 'body'): Promise<string[]> {
  await page.evaluate(IN_PAGE)
  const names = await page.evaluate<string[]>(`keyboard.start(${JSON.stringify(part)})`)
  const stops = await walk(page, names.length * PRESSES_PER_STOP + MORE_PRESSES)
  const reached = new Set(stops.map(({ number }) => number))
  const problems = [
    ...names.filter((_name, number) => !reached.has(number)).map((name) => `${name} is not reached`),
    ...stops.filter(({ shown }) => !shown).map(({ name }) => `${name} does not show its focus`),
    ...stops.filter(({ inSight }) => !inSight).map(({ name }) => `${name} has the focus out of sight`),
  ]
  if (problems.length > 0) throw new Error(`${page.url()} by keyboard:\n  ${problems.join('\n  ')}`)
  return stops.map(({ name }) => name)
}

/** Key presses per batch: one answer for all of them saves most of the time. */
const PRESSES_AT_ONCE = 12

/** Ends when the focus leaves the page or returns to the first stop. The parts of a field are one stop. */
async function walk(page: Page, mostPresses: number): Promise<Stop[]> {
  const stops: Stop[] = []
  for (let presses = 0; presses < mostPresses; presses += PRESSES_AT_ONCE) {
    await Promise.all(Array.from({ length: PRESSES_AT_ONCE }, () => page.keyboard.press('Tab')))
    for (const stop of await page.evaluate<(Stop | null)[]>('keyboard.passed()')) {
      if (!stop) return stops
      const last = stops.at(-1)
      const isKnown = stop.number >= 0
      if (last && isKnown && stop.number === last.number)
        stops.splice(-1, 1, { ...last, shown: last.shown || stop.shown, inSight: last.inSight || stop.inSight })
      else if (isKnown && stop.number === stops[0]?.number) return stops
      else stops.push(stop)
    }
  }
  throw new Error(`${page.url()} by keyboard: no end after ${mostPresses} presses, the last at ${stops.at(-1)?.name}`)
}
