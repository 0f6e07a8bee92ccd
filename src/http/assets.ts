import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import express, { type Router } from 'express'
import { projectRoot } from '#lib/project-root.ts'

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

const DIGEST_CHARACTERS = 12

/** Absolute path of a static project file, from its path below the project root. */
export const projectFile = (path: string): string => join(projectRoot(), path)

/** The static files of an interface's pages, served below `base` and read once. */
export function assetsBelow<N extends string>(base: string, files: Readonly<Record<N, AssetFile>>): Assets<N> {
  const assets = new Map(
    Object.entries<AssetFile>(files).map(([name, { file, type }]) => {
      const bytes = readFileSync(file)
      const digest = createHash('sha256').update(bytes).digest('hex').slice(0, DIGEST_CHARACTERS)
      return [name, { type, bytes, path: `/${digest}/${name}` }]
    }),
  )
  return {
    address(name) {
      const found = assets.get(name)
      if (!found) throw new Error(`asset ${name} does not exist`)
      return `${base}${found.path}`
    },
    serve() {
      const router = express.Router({ caseSensitive: true, strict: true })
      for (const { path, type, bytes } of assets.values()) {
        router.get(path, (_request, response) => {
          response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
          response.setHeader('Content-Type', type)
          response.send(bytes)
        })
      }
      return router
    },
  }
}

/** Shared by the pages of all interfaces: colours, fonts and favicon. */
export const ICON: AssetFile = { file: projectFile('src/http/static/icon.svg'), type: 'image/svg+xml' }
export const BASE_STYLE: AssetFile = { file: projectFile('src/http/static/base.css'), type: 'text/css; charset=utf-8' }
