import type { Request, RequestHandler } from 'express'
import { Problem } from '#http/problems.ts'

/** Pages may load, run and call only what the panel itself serves, and stand in no frame. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Pages are for whoever is logged in: no cache keeps them, and no other site learns their addresses. */
export const pagePolicy: RequestHandler = (_request, response, next) => {
  response.setHeader('Content-Security-Policy', POLICY)
  response.setHeader('Cache-Control', 'no-store')
  // With `no-referrer` browsers would hide the origin of our own forms too.
  response.setHeader('Referrer-Policy', 'same-origin')
  next()
}

/** Refuses a form that another site has sent. Browsers name the origin of a form; a caller that names none is no browser. */
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

/** 405 for all methods but those that `allow` lists. */
export const onlyBy =
  (allow: string): RequestHandler =>
  (_request, _response, next) =>
    next(new Problem('method_not_allowed', undefined, { Allow: allow }))

/** @throws Problem where an address has a U+0000, which Postgres cannot hold in any text. */
export function requireText(query: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(query)) {
    if (value.includes('\0'))
      throw new Problem('validation_failed', { fields: { [name]: ['o endereço tem um caractere nulo'] } })
  }
}
