import { readFileSync } from 'node:fs'
import express, { type Router } from 'express'
import { ICON, projectFile } from './assets.ts'

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
