import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { atBothWidths, expectNoSidewaysScrolling } from './widths.ts'

const FOLDER = new URL('../../../docs/images/panel/', import.meta.url)

/**
 * Shows that the page renders at both widths without being moved sideways. `npm run screenshots` (UPDATE_SCREENSHOTS=1)
 * also keeps what is seen, as docs/images/panel/NAME-360.png and NAME-1440.png: what is in the window, or the whole page.
 */
export async function screenshot(page: Page, name: string, { wholePage = false } = {}): Promise<void> {
  await page.evaluate('document.fonts.ready.then(() => {})')
  await atBothWidths(page, async (width) => {
    await expectNoSidewaysScrolling(page)
    if (process.env.UPDATE_SCREENSHOTS !== '1') return
    await page.screenshot({
      path: fileURLToPath(new URL(`${name}-${width}.png`, FOLDER)),
      fullPage: wholePage,
      animations: 'disabled',
      caret: 'hide',
    })
  })
}
