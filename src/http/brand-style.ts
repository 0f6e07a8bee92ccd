import { createHash } from 'node:crypto'
import express, { type Router } from 'express'
import { brandPalette } from '#domain/brand-color.ts'

const DIGEST_CHARACTERS = 12
const FILE = /^marca-([0-9a-f]{6})\.css$/

/** Variables of base.css in a shop's colour. */
function styleOf(color: string): string {
  const { brand, onBrand, accent, accentPaper } = brandPalette(color)
  return `:root{--brand:${brand};--on-brand:${onBrand};--accent:light-dark(${accent.light},${accent.dark});--accent-paper:light-dark(${accentPaper.light},${accentPaper.dark})}`
}

const digestOf = (style: string): string => createHash('sha256').update(style).digest('hex').slice(0, DIGEST_CHARACTERS)

/** URL of the style sheet of a shop's colour (`#rrggbb`): it names its content, so that browsers may cache it forever. */
export const brandStyleUrl = (base: string, color: string): string =>
  `${base}/${digestOf(styleOf(color))}/marca-${color.slice(1)}.css`

/**
 * Serves the style sheet of every colour. It is made from the address alone: nothing about a company is read or told.
 */
export function serveBrandStyles(): Router {
  const router = express.Router({ caseSensitive: true, strict: true })
  router.get('/:digest/:file', ({ params: { digest, file } }, response, next) => {
    const hex = FILE.exec(file)?.[1]
    const style = hex === undefined ? null : styleOf(`#${hex}`)
    if (style === null || digestOf(style) !== digest) return next()
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
    response.type('text/css').send(style)
  })
  return router
}
