import type { Page } from 'playwright-core'

/** The two sizes (CSS pixels) at which every page has to work: a phone held upright, and a desk. */
export const NARROW = { width: 360, height: 740 }
export const WIDE = { width: 1440, height: 900 }

/** Runs `work` at both widths on the present page, then restores its size. */
export async function atBothWidths(page: Page, work: (width: number) => Promise<void>): Promise<void> {
  const before = page.viewportSize() ?? WIDE
  for (const size of [WIDE, NARROW]) {
    await page.setViewportSize(size)
    await work(size.width)
  }
  await page.setViewportSize(before)
}

/** Fails if a figure is cut, or if one of several in a row does not say what it is. For phones. */
export async function expectReadableFigures(page: Page): Promise<void> {
  const problems = await page.evaluate<string[]>(READABLE)
  if (problems.length > 0) throw new Error(`${page.url()} on a phone: ${problems.join(', ')}`)
}

/** Runs in the page. A grid scrolls inside its box. */
const READABLE = `(() => {
  const told = ({ className, localName, textContent }) =>
    localName + '.' + className + ' "' + textContent.trim().slice(0, 60) + '"'
  const shown = (element) => element.getClientRects().length > 0
  const cut = [...document.querySelectorAll('main :is(.scroll:not(:has(> .grid)), .stat, .facts > div, .sums > div, .card)')]
    .filter((box) => shown(box) && box.scrollWidth > box.clientWidth + 1)
  const bare = [...document.querySelectorAll('main .scroll > :not(.grid) > tbody > tr')].flatMap((row) => {
    const figures = [...row.querySelectorAll('td.number')].filter(shown)
    return figures.filter((cell) => figures.length > 1 && getComputedStyle(cell, '::before').content === 'none')
  })
  return [
    ...cut.slice(0, 5).map((box) => 'cut ' + told(box)),
    ...bare.slice(0, 5).map((cell) => 'without a label ' + told(cell)),
  ]
})()`

/** Fails if the page scrolls sideways, and names the elements that stick out. */
export async function expectNoSidewaysScrolling(page: Page): Promise<void> {
  const { width, needed, culprits } = await page.evaluate<Overflow>(OVERFLOW)
  if (needed <= width) return
  throw new Error(`${page.url()} needs ${needed} px where there are ${width}: ${culprits.join(', ')}`)
}

interface Overflow {
  readonly width: number
  readonly needed: number
  readonly culprits: readonly string[]
}

/** Runs in the page. Content of scrollable boxes is not reported. */
const OVERFLOW = `(() => {
  const width = innerWidth
  const clipped = (element) => {
    for (let box = element.parentElement; box && box !== document.body; box = box.parentElement)
      if (getComputedStyle(box).overflowX !== 'visible') return true
    return false
  }
  const told = ({ id, className, localName, textContent }) =>
    localName + (id ? '#' + id : '') + (className ? '.' + className : '') + ' "' + textContent.trim().slice(0, 60) + '"'
  const culprits = [...document.body.querySelectorAll('*')]
    .filter((element) => element.getBoundingClientRect().right > width + 1 && !clipped(element))
    .slice(0, 5)
    .map(told)
  return { width, needed: document.documentElement.scrollWidth, culprits }
})()`
