import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RequestHandler } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import { projectFile } from '#http/assets.ts'
import { limitUnauthenticatedBy, publicDocument } from '#http/middleware/unauthenticated-clients.ts'

const HOUR_SECONDS = 3_600

/**
 * `GET /tillbook-verify.mjs`: the verifier's source with its SHA-256 (RFC 9530), without authentication, limited by
 * address (PROOF-83).
 */
export function serveVerifier({ addresses }: { readonly addresses: AddressLimit }): RequestHandler {
  const bytes = readFileSync(projectFile('verifier/tillbook-verify.mjs'))
  const digest = createHash('sha256').update(bytes).digest('base64')
  return publicDocument(limitUnauthenticatedBy(addresses), (_request, response) => {
    response.setHeader('Content-Type', 'text/javascript; charset=utf-8')
    response.setHeader('Content-Disposition', 'attachment; filename="tillbook-verify.mjs"')
    response.setHeader('Cache-Control', `public, max-age=${HOUR_SECONDS}`)
    response.setHeader('Repr-Digest', `sha-256=:${digest}:`)
    response.send(bytes)
  })
}
