import type { Request, RequestHandler, Response } from 'express'
import { Problem } from '#http/problems.ts'

/** Pages may load, run and call only files of the panel, and may not be framed. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** For one response: its page shows images of another site. */
export function allowImages(response: Response, origin: string): void {
  response.setHeader('Content-Security-Policy', POLICY.replace("img-src 'self'", `img-src 'self' ${origin}`))
}

/** Pages require a login: they must not be cached, and other sites must not learn their addresses. */
export const pagePolicy: RequestHandler = (_request, response, next) => {
  response.setHeader('Content-Security-Policy', POLICY)
  response.setHeader('Cache-Control', 'no-store')
  // `no-referrer` would hide the origin of the panel's own forms too.
  response.setHeader('Referrer-Policy', 'same-origin')
  next()
}

/** Refuses forms of other sites. Browsers send the origin of a form; a client without one is no browser. */
export const requireOwnSite: RequestHandler = (request, _response, next) => {
  next(request.method === 'POST' && !isOwnSite(request) ? new Problem('cross_site_form') : undefined)
}

function isOwnSite(request: Request): boolean {
  const site = request.get('sec-fetch-site')
  if (site !== undefined) return site === 'same-origin' || site === 'none'
  const origin = request.get('origin')
  if (origin === undefined) return true
  return URL.canParse(origin) && new URL(origin).host === request.headers.host
}

/** @throws Problem if a parameter contains U+0000, which Postgres cannot store in a text */
export function requireText(query: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(query)) {
    if (value.includes('\0'))
      throw new Problem('validation_failed', { fields: { [name]: ['o endereço tem um caractere nulo'] } })
  }
}
