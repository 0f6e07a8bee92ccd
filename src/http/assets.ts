import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import express, { type Response, type Router } from 'express'
import { brandPalette } from '#domain/images.ts'
import { projectRoot } from '#lib/files.ts'
import { type Coding, compressFully, negotiateCoding } from './answers.ts'

/** A static file of the pages. */
interface AssetFile {
  readonly file: string
  readonly type: string
}

interface Assets<N extends string> {
  /** URL of a file with a digest of its content, so that browsers may cache it forever. */
  address(name: N): string
  /** Serves each file at its current URL and nothing else. */
  serve(): Router
}

interface Asset {
  readonly type: string
  readonly bytes: Buffer
  /** Below the base. */
  readonly path: string
  /** Made at the first request of each coding. */
  readonly coded: Map<Coding, Promise<Buffer>>
}

const DIGEST_CHARACTERS = 12

/** Absolute path of a static project file, from its path below the project root. */
export const projectFile = (path: string): string => join(projectRoot(), path)

/**
 * The static files of an interface's pages, served below `base` and read once. A style sheet may name files that come
 * before it: `url("inter.woff2")`.
 */
export function assetsBelow<N extends string>(base: string, files: Readonly<Record<N, AssetFile>>): Assets<N> {
  const assets = new Map<string, Asset>()
  for (const [name, { file, type }] of Object.entries<AssetFile>(files)) {
    const bytes = type.startsWith('text/css') ? served(readFileSync(file, 'utf8'), assets) : readFileSync(file)
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, DIGEST_CHARACTERS)
    assets.set(name, { type, bytes, path: `/${digest}/${name}`, coded: new Map() })
  }
  return {
    address(name) {
      const found = assets.get(name)
      if (!found) throw new Error(`asset ${name} does not exist`)
      return `${base}${found.path}`
    },
    serve() {
      const router = express.Router({ caseSensitive: true, strict: true })
      for (const asset of assets.values()) router.get(asset.path, (_request, response) => send(response, asset))
      return router
    },
  }
}

/** A style sheet without comments and spaces that mean nothing, and with the addresses of other files relative to its own. */
const served = (style: string, assets: ReadonlyMap<string, Asset>): Buffer =>
  Buffer.from(
    style
      .replace(/\/\*.*?\*\//gs, '')
      .replace(/\s+/g, ' ')
      .replace(/ ?([{};,]) ?/g, '$1')
      .replace(/ > /g, '>')
      .replace(/: /g, ':')
      .replace(/(?<=[\s:(])0(?=\.\d)/g, '')
      .replaceAll(';}', '}')
      .replace(/url\("([\w.-]+)"\)/g, (_, name) => {
        const asset = assets.get(name)
        if (!asset) throw new Error(`style sheet: asset ${name} does not exist`)
        return `url("..${asset.path}")`
      }),
  )

/** Fonts and pictures are compressed already. */
const isText = ({ type }: Asset): boolean => !type.startsWith('font/') && type !== 'image/webp'

async function send(response: Response, asset: Asset): Promise<void> {
  const { type, bytes, coded } = asset
  response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
  response.setHeader('Content-Type', type)
  response.vary('Accept-Encoding')
  const coding = isText(asset) ? negotiateCoding(response.req.headers['accept-encoding']) : null
  if (!coding) return void response.send(bytes)
  const making = coded.get(coding) ?? compressFully(bytes, coding)
  coded.set(coding, making)
  response.setHeader('Content-Encoding', coding)
  response.send(await making)
}

const require = createRequire(import.meta.url)

/** Inter with all weights; its Latin part has every character of the pages but arrows and marks. */
export const FONT: AssetFile = {
  file: require.resolve('@fontsource-variable/inter/files/inter-latin-wght-normal.woff2'),
  type: 'font/woff2',
}
export const FONT_STYLE: AssetFile = { file: projectFile('src/http/static/font.css'), type: 'text/css; charset=utf-8' }

/** Shared by the pages of all interfaces: colours, fonts and favicon. */
export const ICON: AssetFile = { file: projectFile('src/http/static/icon.svg'), type: 'image/svg+xml' }
export const BASE_STYLE: AssetFile = { file: projectFile('src/http/static/base.css'), type: 'text/css; charset=utf-8' }

const FILE = /^marca-([0-9a-f]{6})\.css$/

/** Variables of base.css in a shop's colour, which pages without a menu have on top. */
export function brandStyle(color: string): string {
  const { brand, onBrand, accent, accentPaper } = brandPalette(color)
  return `:root{--brand:${brand};--on-brand:${onBrand};--accent:light-dark(${accent.light},${accent.dark});--accent-paper:light-dark(${accentPaper.light},${accentPaper.dark})}.plain{border-top:.25rem solid var(--brand)}`
}

const digestOf = (style: string): string => createHash('sha256').update(style).digest('hex').slice(0, DIGEST_CHARACTERS)

/** URL of the style sheet of a shop's colour (`#rrggbb`): it names its content, so that browsers may cache it forever. */
export const brandStyleUrl = (base: string, color: string): string =>
  `${base}/${digestOf(brandStyle(color))}/marca-${color.slice(1)}.css`

/**
 * Serves the style sheet of every colour. It is made from the address alone: nothing about a company is read or told.
 */
export function serveBrandStyles(): Router {
  const router = express.Router({ caseSensitive: true, strict: true })
  router.get('/:digest/:file', ({ params: { digest, file } }, response, next) => {
    const hex = FILE.exec(file)?.[1]
    const style = hex === undefined ? null : brandStyle(`#${hex}`)
    if (style === null || digestOf(style) !== digest) return next()
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
    response.type('text/css').send(style)
  })
  return router
}

/** Where browsers look for a page's icon; the second is linked by pages without assets of their own. */
const FILES = [
  { path: '/favicon.ico', file: projectFile('src/http/static/favicon.ico'), type: 'image/x-icon' },
  { path: '/favicon.svg', ...ICON },
] as const

/** Serves the icons at their fixed addresses. */
export function serveFavicons(): Router {
  const router = express.Router({ caseSensitive: true, strict: true })
  for (const { path, file, type } of FILES) {
    const bytes = readFileSync(file)
    router.get(path, (_request, response) => {
      response.setHeader('Cache-Control', 'public, max-age=86400')
      response.type(type).send(bytes)
    })
  }
  return router
}
