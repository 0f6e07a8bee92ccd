import type { RequestHandler } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import { sendJson } from '#http/answer.ts'
import { limitUnauthenticatedBy } from '#http/middleware/unauthenticated-clients.ts'
import { Problem } from '#http/problems.ts'
import { verifierKey, vkeyOf } from '#integrity/proofs/note.ts'
import type { ProofServices } from '#integrity/proofs/proofs.ts'

interface KeysOptions {
  readonly proof: Pick<ProofServices, 'keys'>
  readonly addresses: AddressLimit
}

/** `GET /proof/keys`: the key ring for verifiers, without authentication, limited by address (PROOF-30). */
export function serveProofKeys({ proof, addresses }: KeysOptions): RequestHandler {
  const limitAnonymous = limitUnauthenticatedBy(addresses)
  return async (request, response) => {
    await limitAnonymous(request, response)
    if (!['GET', 'HEAD'].includes(request.method))
      throw new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' })
    const entries = await proof.keys()
    // `tillbook/{installation id}/keys`; the installation log signs under the name without the last segment.
    const log = entries[0]?.vkey.replace(/\/keys\+.*$/, '') ?? null
    const keys = entries.map((entry) => ({ ...entry, log_vkey: vkeyOf(verifierKey(log ?? '', entry.public_key)) }))
    response.setHeader('Cache-Control', 'no-store')
    sendJson(response, 200, JSON.stringify({ log, keys }))
  }
}
