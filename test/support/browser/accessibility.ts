import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, Result, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'
import { atBothWidths, expectNoSidewaysScrolling, expectReadableFigures, WIDE } from './widths.ts'

/** WCAG 2.2 up to level AA, and axe's best practices: landmarks, one main heading, heading order. */
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

/** Rules that depend on width and colours; names and roles do not. */
const OF_LOOKS = [
  'color-contrast',
  'target-size',
  'scrollable-region-focusable',
  'aria-hidden-focus',
  'button-name',
  'link-name',
  'label',
  'region',
]

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Fails unless axe-core finds the page accessible in its present state and it does not scroll sideways: all rules when
 * wide and light, the visual ones also when narrow and dark, unless `isWideOnly`. Elements `known` from another page are
 * skipped.
 */
export async function check(page: Page, known: readonly string[] = [], isWideOnly = false): Promise<void> {
  // The browser runs it, not the page, so the page's policy against foreign scripts does not apply.
  await page.evaluate(AXE)
  await atBothWidths(page, async (width) => {
    const isWide = width === WIDE.width
    await page.emulateMedia({ colorScheme: isWide ? 'light' : 'dark' })
    await expectNoSidewaysScrolling(page)
    if (!isWide) await expectReadableFigures(page)
    if (isWideOnly && !isWide) return
    await expectNoViolations(page, isWide ? 'wide, in light colours' : 'narrow, in dark ones', known, {
      runOnly: isWide ? TAGS : OF_LOOKS,
    })
  })
  await page.emulateMedia({ colorScheme: 'light' })
}

async function expectNoViolations(
  page: Page,
  where: string,
  known: readonly string[],
  options: RunOptions,
): Promise<void> {
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(${JSON.stringify({ exclude: known })}, ${JSON.stringify({ ...options, resultTypes: ['violations'] })})`,
  )
  if (violations.length > 0) throw new Error(`${page.url()} ${where}:\n${violations.map(told).join('\n')}`)
}

const SHOWN = 5

/** A violation with its elements, and the problem of each. */
function told({ id, impact, help, helpUrl, nodes }: Result): string {
  const elements = nodes.slice(0, SHOWN).map(({ target, html, failureSummary = '' }) => {
    const [, ...reasons] = failureSummary.split('\n')
    return `    ${target.join(' ')}  ${html.slice(0, 160)}\n      ${reasons.map((reason) => reason.trim()).join('; ')}`
  })
  const more = nodes.length > SHOWN ? [`    and ${nodes.length - SHOWN} more`] : []
  return [`  ${id} (${impact}): ${help}, ${helpUrl}`, ...elements, ...more].join('\n')
}
