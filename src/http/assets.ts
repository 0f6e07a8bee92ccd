import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import express, { type Router } from 'express'
import { projectRoot } from '#lib/project-root.ts'

/** A file that pages load. */
interface AssetFile {
  readonly file: string
  readonly type: string
}

interface Assets<N extends string> {
  /** The address of a file, with a digest of what is in it, so that browsers may keep it for ever. */
  address(name: N): string
  /** Serves each file at its current address, and nothing else. */
  serve(): Router
}

const DIGEST_CHARACTERS = 12

/** A file of the project that is served as it is written, by its path from the root. */
export const projectFile = (path: string): string => join(projectRoot(), path)

/** The files that the pages of an interface load, all of them served below `base`. They are read once. */
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
      if (!found) throw new Error(`there is no asset ${name}`)
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

/** The same for the pages of every interface: colours, type, and the sign of the tab. */
export const ICON: AssetFile = { file: projectFile('src/http/static/icon.svg'), type: 'image/svg+xml' }
export const BASE_STYLE: AssetFile = { file: projectFile('src/http/static/base.css'), type: 'text/css; charset=utf-8' }
