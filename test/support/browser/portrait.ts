import { mkdir, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { NARROW } from './widths.ts'

const FOLDER = fileURLToPath(new URL('../../../docs/images/pages/', import.meta.url))
const DESK = { width: 1280, height: 800 }
const SCHEMES = ['light', 'dark'] as const
/** Of 100: letters stay sharp, and four pictures of each page stay below a few MB in all. */
const QUALITY = 35

const drawn: { readonly name: string; readonly route: string; readonly title: string }[] = []

const isAsked = (): boolean => process.env.UPDATE_SCREENSHOTS === '1'

/** `npm run screenshots` keeps a picture of a page on a desk and on a phone, light and dark, as WebP; other runs keep none. */
export async function portrait(page: Page, route: string): Promise<void> {
  if (!isAsked()) return
  await mkdir(FOLDER, { recursive: true })
  const name = route === '/' ? 'inicio' : route.slice(1).replaceAll('/', '-').replaceAll(':', '')
  const before = page.viewportSize()
  const session = await page.context().newCDPSession(page)
  for (const size of [DESK, NARROW]) {
    await page.setViewportSize(size)
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme })
      await page.evaluate('scrollTo(0, 0), document.activeElement.blur(), document.fonts.ready.then(() => {})')
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
      await writeFile(`${FOLDER}${name}-${size.width}-${colorScheme}.webp`, Buffer.from(data, 'base64'))
    }
  }
  await session.detach()
  if (before) await page.setViewportSize(before)
  await page.emulateMedia({ colorScheme: 'light' })
  drawn.push({ name, route, title: (await page.title()).replace(/ · Tillbook$/, '') })
}

/** The page of the docs that shows them all. */
export async function writeGallery(): Promise<void> {
  if (!isAsked() || drawn.length === 0) return
  const parts = drawn.map(({ name, route, title }) => {
    const picture = (width: number, scheme: string, shown: number) =>
      `<img src="${name}-${width}-${scheme}.webp" width="${shown}" alt="${title}, ${scheme}, ${width} px">`
    return `## ${title.replaceAll('<', '&lt;')}\n\n\`/painel${route === '/' ? '' : route}\`\n\n<p>${picture(DESK.width, 'light', 420)} ${picture(NARROW.width, 'light', 120)} ${picture(DESK.width, 'dark', 420)} ${picture(NARROW.width, 'dark', 120)}</p>\n`
  })
  const head = `# Every page of the panel\n\nOn a desk (1280 px) and on a phone (360 px), light and dark. Made by \`npm run screenshots\`.\n`
  await writeFile(`${FOLDER}README.md`, `${head}\n${parts.join('\n')}`)
}
