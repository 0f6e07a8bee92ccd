import { formatCheckpoint } from '../proofs/checkpoint.ts'
import type { Attestor } from './attestor.ts'
import { callAttestor, failureOf } from './attestor-client.ts'

interface AuthorityOptions {
  readonly url: string
  /** Trusted certificates in PEM; null accepts any certificate that the authority sends. */
  readonly trusted: string | null
  /** Random bytes that the response must repeat. */
  readonly newNonce: () => Buffer
  readonly timeout_ms?: number
}

/** Loaded on demand: the library is large, and few installations configure an authority. */
const tokens = () => import('./time-stamp-token.ts')

/**
 * Time-stamp authority (RFC 3161). It states that a checkpoint, and therefore everything it covers, existed at a time.
 * The stamp is of the checkpoint's text; `openssl ts -verify` reads its DER (PROOF-63).
 */
export function createTimeStampAuthority({ url, trusted, newNonce, timeout_ms }: AuthorityOptions): Attestor {
  return {
    source: url,
    kind: 'time_stamp',
    takesEach: false,
    async ask(checkpoint, { signal }) {
      const text = formatCheckpoint(checkpoint)
      const nonce = newNonce()
      const headers = { 'content-type': 'application/timestamp-query', accept: 'application/timestamp-reply' }
      const { timeStampRequest, verifyStamp } = await tokens()
      const body = timeStampRequest(text, nonce)
      const answer = await callAttestor({ method: 'POST', url, headers, body, signal, timeout_ms })
      if (answer.status !== 200) throw failureOf(answer)
      await verifyStamp(answer.body, { text, nonce, trusted })
      return answer.body
    },
  }
}
