import type { RequestHandler } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import { sendJson } from '#http/answer.ts'
import { limitUnauthenticatedBy, publicDocument } from '#http/middleware/unauthenticated-clients.ts'
import { verifierKey, vkeyOf } from '#integrity/proofs/note.ts'
import type { ProofServices } from '#integrity/proofs/proofs.ts'

interface KeysOptions {
  readonly proof: Pick<ProofServices, 'keys' | 'log'>
  readonly addresses: AddressLimit
}

/** `GET /proof/keys`: the key ring for verifiers, without authentication, limited by address. */
export function serveProofKeys({ proof, addresses }: KeysOptions): RequestHandler {
  return publicDocument(limitUnauthenticatedBy(addresses), async (_request, response) => {
    const [entries, name] = await Promise.all([proof.keys(), proof.log()])
    const log = entries.length > 0 ? name : null
    const keys = entries.map((entry) => ({ ...entry, log_vkey: vkeyOf(verifierKey(name, entry.public_key)) }))
    response.setHeader('Cache-Control', 'no-store')
    sendJson(response, 200, JSON.stringify({ log, keys }))
  })
}
