import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { Page } from 'playwright-core'
import { NARROW } from './widths.ts'

const IMAGES = fileURLToPath(new URL('../../../docs/images/', import.meta.url))
/** Not committed. */
const GALLERY = fileURLToPath(new URL('../../../gallery/', import.meta.url))
/** Pictures that README.md shows. */
const COMMITTED = ['vendas-360-light', 'vendas-id-360-light', 'auditoria-360-light']
const DESK = { width: 1280, height: 800 }
const SCHEMES = ['light', 'dark'] as const
/** Quality of 100, and scale of the page. */
const [QUALITY, SCALE] = [30, 0.6]

const titles = new Map<string, string>()
/** Pictures on paper, by route: their names and titles. */
const onPaper = new Map<string, (readonly [name: string, title: string])[]>()

/** Forms look as others do: the dark ones are of what people look at. */
const isShownDark = (route: string): boolean => !/(:\w+\/[\w-]+|\/nov[oa])$/.test(route)
const schemesOf = (route: string) => SCHEMES.filter((scheme) => scheme === 'light' || isShownDark(route))

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

/** Writes a picture of the gallery; a committed one too, unless it looks the same. */
async function keep(page: Page, name: string, data: string): Promise<void> {
  await writeFile(`${GALLERY}${name}.webp`, Buffer.from(data, 'base64'))
  if (COMMITTED.includes(name)) await update(page, `${IMAGES}${name}.webp`, data)
}

async function update(page: Page, file: string, data: string): Promise<void> {
  const before = await readFile(file, 'base64').catch(() => null)
  if (before === null || (await page.evaluate<boolean>(differ(before, data))))
    await writeFile(file, Buffer.from(data, 'base64'))
}

/** The start page at its full size, for the README. */
const SHOP = `${IMAGES}shop.webp`
const SHOP_QUALITY = 70

/** Saves a picture of a page on desktop and phone, light and dark, as WebP. */
export async function portrait(page: Page, route: string): Promise<void> {
  await mkdir(GALLERY, { recursive: true })
  titles.set(route, (await page.title()).replace(/ · Tillbook$/, ''))
  const before = page.viewportSize()
  const session = await page.context().newCDPSession(page)
  await page.evaluate(SETTLE)
  for (const size of [DESK, NARROW]) {
    await page.setViewportSize(size)
    // Rendered at its final size: scaling afterwards is not deterministic.
    await session.send('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor: SCALE, mobile: false })
    for (const colorScheme of schemesOf(route)) {
      await page.emulateMedia({ colorScheme })
      const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
      await keep(page, `${nameOf(route)}-${size.width}-${colorScheme}`, data)
    }
  }
  if (route === '/') {
    await page.emulateMedia({ colorScheme: 'light' })
    await session.send('Emulation.setDeviceMetricsOverride', { ...DESK, deviceScaleFactor: 1, mobile: false })
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: SHOP_QUALITY })
    await update(page, SHOP, data)
  }
  await session.detach()
  if (before) await page.setViewportSize(before)
  await page.emulateMedia({ colorScheme: 'light' })
}

/** Widths of paper in CSS pixels, without the margins. */
const PAPERS = { A4: 703, '80mm': 280, '58mm': 197 } as const

/** A sheet of A4. */
const MAX_HEIGHT = 1030

/** Saves a page as it is printed on one kind of paper after the other. */
export async function printed(page: Page, route: string, papers: readonly (keyof typeof PAPERS)[]): Promise<void> {
  const before = page.viewportSize()
  const session = await page.context().newCDPSession(page)
  await page.evaluate(SETTLE)
  await page.emulateMedia({ media: 'print' })
  for (const paper of papers) {
    const size = { width: PAPERS[paper], height: 100 }
    await page.setViewportSize(size)
    const height = await page.evaluate<number>('document.documentElement.scrollHeight')
    const metrics = { ...size, height: Math.min(height, MAX_HEIGHT), deviceScaleFactor: 1, mobile: false }
    await session.send('Emulation.setDeviceMetricsOverride', metrics)
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: QUALITY })
    const name = `${nameOf(route)}-${paper}`
    await keep(page, name, data)
    onPaper.set(route, [...(onPaper.get(route) ?? []), [name, `on paper, ${paper}`]])
  }
  await page.emulateMedia({ media: 'screen' })
  await session.detach()
  if (before) await page.setViewportSize(before)
}

/** Writes the page that shows all pictures, once all were taken. */
export async function writeGallery(routes: readonly string[]): Promise<void> {
  if (!routes.every((route) => titles.has(route))) return
  const names = new Set<string>()
  const parts = routes.map((route) => {
    const title = titles.get(route)?.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;') ?? ''
    const image = (name: string, shown: number, of: string) => {
      names.add(`${name}.webp`)
      return `<img src="${name}.webp" width="${shown}" alt="${title}, ${of}">`
    }
    const picture = (width: number, scheme: string, shown: number) =>
      image(`${nameOf(route)}-${width}-${scheme}`, shown, `${scheme}, ${width} px`)
    const pictures = schemesOf(route).map(
      (scheme) => `${picture(DESK.width, scheme, 420)} ${picture(NARROW.width, scheme, 120)}`,
    )
    pictures.push(...(onPaper.get(route) ?? []).map(([name, of]) => image(name, 240, of)))
    return `## ${title}\n\n\`/painel${route === '/' ? '' : route}\`\n\n<p>${pictures.join(' ')}</p>\n`
  })
  const head = `# Every page of the panel

On a desk (1280 px) and on a phone (360 px), light and, but for forms, dark; receipts, the closing and a list also on paper: the demonstration shop at noon of a Friday. Made by \`npm run screenshots\`; [the panel](../docs/panel.md) says what one does where.
`
  await writeFile(`${GALLERY}README.md`, `${head}\n${parts.join('\n')}`)
  // Of pages that are gone, or look otherwise.
  for (const file of await readdir(GALLERY))
    if (file.endsWith('.webp') && !names.has(file)) await rm(`${GALLERY}${file}`)
}
