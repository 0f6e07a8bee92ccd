import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { NARROW } from './widths.ts'

const DOCS = fileURLToPath(new URL('../../../docs/', import.meta.url))
const FOLDER = 'images/pages'
const DESK = { width: 1280, height: 800 }
const SCHEMES = ['light', 'dark'] as const
/**
 * Quality of 100, and scale of the page: text is readable, and four pictures of each page take less than 4 MB in all.
 */
const [QUALITY, SCALE] = [30, 0.6]

const titles = new Map<string, string>()

export const isGalleryAsked = (): boolean => process.env.UPDATE_SCREENSHOTS === '1'

const nameOf = (route: string): string =>
  route === '/' ? 'inicio' : route.slice(1).replaceAll('/', '-').replaceAll(':', '')

/** Runs in the page: replaces values that differ between runs, so that a picture changes only with its page. */
const SETTLE = `(() => {
  const same = (text) => text
    .replace(/\\b\\d{2}:\\d{2}:\\d{2}\\b/g, '08:17:15')
    .replace(/\\b\\d+(?=\\sms\\b)/g, '12')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '0192f0c4-7b1a-7c3e-9d55-3f1b2a6c8e01')
    .replace(/\\b[0-9a-f]{64}\\b/g, '5d41402abc4b2a76b9719d911017c592ae2f1c6f0b5a4f3d8c9e7a6b1d2c3e4f')
    .replace(/\\btb_(test|live)_[A-Za-z0-9_-]+/g, 'tb_$1_3mZk8')
    .replace(/127\\.0\\.0\\.1:\\d+/g, 'caixa.example')
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  while (walker.nextNode()) walker.currentNode.data = same(walker.currentNode.data)
  scrollTo(0, 0)
  document.activeElement.blur()
  return document.fonts.ready.then(() => {})
})()`

/** Runs in the page: whether two pictures (base64) differ by more than a few points of paint. */
const differ = (before: string, now: string): string => `(async () => {
  const pixels = async (data) => {
    const image = new Image()
    image.src = 'data:image/webp;base64,' + data
    await image.decode()
    const context = new OffscreenCanvas(image.width, image.height).getContext('2d')
    context.drawImage(image, 0, 0)
    return context.getImageData(0, 0, image.width, image.height).data
  }
  const [before, now] = [await pixels('${before}'), await pixels('${now}')]
  return before.length !== now.length || before.filter((value, at) => Math.abs(value - now[at]) > 96).length > 50
})()`

/** Writes a picture, unless the existing one looks the same. */
async function keep(page: Page, file: string, data: string): Promise<void> {
  const before = await readFile(file, 'base64').catch(() => null)
  if (before === null || (await page.evaluate<boolean>(differ(before, data))))
    await writeFile(file, Buffer.from(data, 'base64'))
}

/** The start page at its full size, for the README. */
const SHOP = `${DOCS}images/shop.webp`
const SHOP_QUALITY = 70

/** Saves a picture of a page on desktop and phone, light and dark, as WebP. */
export async function portrait(page: Page, route: string): Promise<void> {
  await mkdir(`${DOCS}${FOLDER}`, { recursive: true })
  titles.set(route, (await page.title()).replace(/ · Tillbook$/, ''))
  const before = page.viewportSize()
  const session = await page.context().newCDPSession(page)
  await page.evaluate(SETTLE)
  for (const size of [DESK, NARROW]) {
    await page.setViewportSize(size)
    // Rendered at its final size: scaling afterwards is not deterministic.
    await session.send('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor: SCALE, mobile: false })
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme })
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
      await keep(page, `${DOCS}${FOLDER}/${nameOf(route)}-${size.width}-${colorScheme}.webp`, data)
    }
  }
  if (route === '/') {
    await session.send('Emulation.setDeviceMetricsOverride', { ...DESK, deviceScaleFactor: 1, mobile: false })
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: SHOP_QUALITY })
    await keep(page, SHOP, data)
  }
  await session.detach()
  if (before) await page.setViewportSize(before)
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Saves a page as it is printed. */
export async function printed(page: Page, route: string): Promise<void> {
  const session = await page.context().newCDPSession(page)
  await page.emulateMedia({ media: 'print' })
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
  await keep(page, `${DOCS}${FOLDER}/${nameOf(route)}-print.webp`, data)
  await page.emulateMedia({ media: 'screen' })
  await session.detach()
}

/** Writes the page of the docs that shows all pictures, once all were taken. */
export async function writeGallery(routes: readonly string[]): Promise<void> {
  if (!routes.every((route) => titles.has(route))) return
  const parts = routes.map((route) => {
    const title = titles.get(route)?.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;') ?? ''
    const picture = (width: number, scheme: string, shown: number) =>
      `<img src="${FOLDER}/${nameOf(route)}-${width}-${scheme}.webp" width="${shown}" alt="${title}, ${scheme}, ${width} px">`
    const pictures = SCHEMES.map(
      (scheme) => `${picture(DESK.width, scheme, 420)} ${picture(NARROW.width, scheme, 120)}`,
    )
    return `## ${title}\n\n\`/painel${route === '/' ? '' : route}\`\n\n<p>${pictures.join(' ')}</p>\n`
  })
  const head = `# Every page of the panel

On a desk (1280 px) and on a phone (360 px), light and dark: the demonstration shop at noon of a Friday. [The panel](panel.md) says what one does where. Made by \`npm run screenshots\`.
`
  await writeFile(`${DOCS}panel-gallery.md`, `${head}\n${parts.join('\n')}`)
}
