import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import express, { type Router } from 'express'
import { projectRoot } from '#lib/project-root.ts'
import { PANEL } from './link.ts'

const require = createRequire(import.meta.url)

const own = (name: string): string => join(projectRoot(), 'src/panel/static', name)

/** All that pages load: our own files, and scripts of packages. */
const FILES: Readonly<Record<string, { readonly file: string; readonly type: string }>> = {
  'panel.css': { file: own('panel.css'), type: 'text/css; charset=utf-8' },
  'panel.js': { file: own('panel.js'), type: 'text/javascript; charset=utf-8' },
  'icon.svg': { file: own('icon.svg'), type: 'image/svg+xml' },
  'htmx.js': { file: require.resolve('htmx.org/dist/htmx.min.js'), type: 'text/javascript; charset=utf-8' },
  'sse.js': { file: require.resolve('htmx-ext-sse/dist/sse.min.js'), type: 'text/javascript; charset=utf-8' },
}

interface Asset {
  readonly type: string
  readonly bytes: Buffer
  /** With a digest of what is in it, so that browsers may keep it for ever. */
  readonly path: string
}

const DIGEST_CHARACTERS = 12

const ASSETS = new Map<string, Asset>(
  Object.entries(FILES).map(([name, { file, type }]) => {
    const bytes = readFileSync(file)
    const digest = createHash('sha256').update(bytes).digest('hex').slice(0, DIGEST_CHARACTERS)
    return [name, { type, bytes, path: `/${digest}/${name}` }]
  }),
)

export function asset(name: keyof typeof FILES): string {
  const found = ASSETS.get(name)
  if (!found) throw new Error(`there is no asset ${name}`)
  return `${PANEL}/assets${found.path}`
}

/** Serves each file at its current address, and nothing else. */
export function serveAssets(): Router {
  const router = express.Router({ caseSensitive: true, strict: true })
  for (const { path, type, bytes } of ASSETS.values()) {
    router.get(path, (_request, response) => {
      response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
      response.setHeader('Content-Type', type)
      response.send(bytes)
    })
  }
  return router
}
