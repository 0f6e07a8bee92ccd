import express, { type Router } from 'express'
import { routed } from '#http/middleware/observe.ts'
import { requireHttps } from '#http/middleware/transport.ts'
import { limited, limitUnauthenticatedBy } from '#http/middleware/unauthenticated-clients.ts'
import { Problem } from '#http/problems.ts'
import { keyIdOf } from '#integrity/audit/signing-key.ts'
import { installationOf } from '#integrity/proofs/installation.ts'
import { isEntry, parseStatement, type RingEntry } from '#integrity/proofs/key-statement.ts'
import { rawOf } from '#integrity/proofs/note.ts'
import { RECEIPT_PAGE } from '#integrity/proofs/receipt.ts'
import type { Services } from '#services.ts'
import { documentOf, PAGE_POLICY, type TrustedKeys } from './document.tsx'

/** Serves `/conferir`, the public page that verifies receipts (PROOF-48, PROOF-49). */
export function serveVerificationPage(services: Pick<Services, 'reads' | 'proofs' | 'limits'>): Router {
  const { reads, proofs, limits } = services
  const router = express.Router({ caseSensitive: true, strict: true })
  const one = router.route('/').all(routed(RECEIPT_PAGE), requireHttps(limitUnauthenticatedBy(limits.checkouts)))
  one.get(async (request, response) => {
    const counted = await limits.checkouts.consume(request.ip ?? '')
    if (counted.limited) throw limited(counted)
    const [{ family }, entries] = await Promise.all([installationOf(reads.pool), proofs.proof.keys()])
    response.setHeader('Content-Security-Policy', PAGE_POLICY)
    response.setHeader('Referrer-Policy', 'no-referrer')
    // Keys rotate: the page must embed the present ring.
    response.setHeader('Cache-Control', 'no-cache')
    response.type('html').send(documentOf(trustedOf(family, entries)))
  })
  one.all(() => {
    throw new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' })
  })
  return router
}

/**
 * Trusted keys of the ring. A key that was not signed by its predecessor is marked, for example one inserted by the
 * database's owner.
 */
export function trustedOf(installation: string, entries: readonly RingEntry[]): TrustedKeys {
  const broken = entries.findIndex((_, at) => !isEntry(installation, entries, at))
  const sound = broken < 0 ? entries : entries.slice(0, broken)
  const unsigned = sound.findIndex(({ note }) => parseStatement(note)?.succession === 'unsigned')
  const keys = sound.map(({ public_key, since }, at) => ({
    key: rawOf(public_key).toString('base64'),
    id: keyIdOf(public_key),
    since,
    until: sound[at + 1]?.since ?? null,
    isSigned: unsigned < 0 || at < unsigned,
  }))
  return { installation, keys }
}
