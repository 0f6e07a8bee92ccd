import { errors } from 'undici'
import { PrivateAddress } from './connector.ts'

/** The whole time of an attempt was over before an answer came. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut'
}

/** Why an attempt failed: short texts that stay the same, for the delivery's record. */
export type FailureCode =
  | 'timeout'
  | 'connection_refused'
  | 'connection_lost'
  | 'connection_failed'
  | 'name_not_resolved'
  | 'private_address'
  | 'tls'
  | 'invalid_url'
  | 'invalid_response'
  | 'redirect'
  | 'gone'
  | 'http_status'

/** What a status means; null for success. Redirects are not followed: whoever moves tells us the new URL. */
export function failureOfStatus(status: number): FailureCode | null {
  if (status >= 200 && status < 300) return null
  if (status === 410) return 'gone'
  return status >= 300 && status < 400 ? 'redirect' : 'http_status'
}

const CODES: readonly [RegExp, FailureCode][] = [
  [/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT)$/, 'timeout'],
  [/^ECONNREFUSED$/, 'connection_refused'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'connection_lost'],
  // Of the name servers: what getaddrinfo and c-ares say.
  [
    /^(ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|EBADNAME|EBADRESP|EFORMERR|ETIMEOUT|ENOTIMP|EAI_[A-Z]+)$/,
    'name_not_resolved',
  ],
  [/^(ERR_TLS_|ERR_SSL_|CERT_|CRL_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|HOSTNAME_MISMATCH|INVALID_|EPROTO)/, 'tls'],
  [/^(ERR_INVALID_URL|UND_ERR_NOT_SUPPORTED)$/, 'invalid_url'],
  [/^(UND_ERR_HEADERS_OVERFLOW|UND_ERR_RES)/, 'invalid_response'],
]

/** Sorts what an attempt without a usable answer ended with. */
export function failureOf(error: unknown): FailureCode {
  if (error instanceof TimedOut) return 'timeout'
  if (error instanceof PrivateAddress) return 'private_address'
  if (error instanceof errors.HTTPParserError) return 'invalid_response'
  const code = (error as { code?: unknown } | null)?.code
  const known = typeof code === 'string' ? CODES.find(([pattern]) => pattern.test(code)) : undefined
  return known?.[1] ?? 'connection_failed'
}
