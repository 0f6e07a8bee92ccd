import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import express, { type Router } from 'express'
import { projectRoot } from '../../project-root.ts'

/** Where they are served. */
export const ASSETS_PATH = '/painel/assets'

/** Bits of a SHA-256 in base64: 96 are plenty, since nobody but us chooses the contents. */
const HASH_LENGTH = 16

const own = (file: string) => join(projectRoot(), 'src', 'http', 'panel', 'assets', file)
const ofPackage = createRequire(import.meta.url).resolve

/** What pages of the panel load, and the files that it is made of, one after the other. */
const SOURCES = {
  'panel.css': [own('panel.css')],
  'panel.js': [own('panel.js')],
  'htmx.js': [ofPackage('htmx.org/dist/htmx.min.js')],
  'sse.js': [ofPackage('htmx-ext-sse/dist/sse.min.js')],
} as const satisfies Record<string, readonly string[]>

export type AssetName = keyof typeof SOURCES

interface Asset {
  readonly url: string
  readonly content: string
}

/** Read once, when the program starts: a file that is missing is told then, and not to the first visitor. */
const ASSETS: ReadonlyMap<string, Asset> = new Map(
  Object.entries(SOURCES).map(([name, files]) => [name, read(name, files)]),
)

function read(name: string, files: readonly string[]): Asset {
  const content = files.map((file) => readFileSync(file, 'utf8')).join('\n')
  const hash = createHash('sha256').update(content).digest('base64url').slice(0, HASH_LENGTH)
  return { url: `${ASSETS_PATH}/${hash}/${name}`, content }
}

/** The address to load an asset from; another content has another address. */
export function asset(name: AssetName): string {
  const { url } = ASSETS.get(name) as Asset
  return url
}

/**
 * Serves every asset under the address that `asset` tells, to be kept for ever. Any other address is not found: what is
 * kept for ever must be what the address says.
 */
export function serveAssets(): Router {
  const router = express.Router()
  router.get('/:hash/:name', (request, response, next) => {
    const found = ASSETS.get(request.params.name)
    if (!found || found.url !== request.baseUrl + request.path) return next()
    response
      .set({ 'Cache-Control': 'public, max-age=31536000, immutable', 'X-Content-Type-Options': 'nosniff' })
      .type(extname(request.params.name))
      .send(found.content)
  })
  return router
}
