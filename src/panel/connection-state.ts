import { createHash, createHmac, timingSafeEqual } from 'node:crypto'

/** Time between the page with the button and the provider's answer: the owner logs in there. */
const LIFETIME_MS = 3_600_000

/** A store that its owner connects to an account at the provider. */
export interface ConnectionState {
  readonly storeId: number
  /** Secret of the code; the provider knows only its hash until the code is exchanged. */
  readonly verifier: string
}

const keyed = (secret: string, label: string, text: string): Buffer =>
  createHmac('sha256', secret).update(`${label}\n${text}`).digest()

const verifierOf = (secret: string, text: string): string =>
  keyed(secret, 'connection verifier', text).toString('base64url')

/** SHA-256 of a verifier, which the provider is told with the request (RFC 7636). */
const challengeOf = (verifier: string): string => createHash('sha256').update(verifier).digest('base64url')

/**
 * State of an OAuth request: store, end, a random value, and a MAC by a secret of the session. Another session's state,
 * and one that another site made up, is refused; nothing is stored until the provider answers.
 */
export function makeConnectionState(secret: string, storeId: number, now: number, nonce: string) {
  const text = `${storeId}.${now + LIFETIME_MS}.${nonce}`
  const state = `${text}.${keyed(secret, 'connection state', text).toString('base64url')}`
  return { state, challenge: challengeOf(verifierOf(secret, text)) }
}

const STATE = /^((\d{1,15})\.(\d{1,15})\.[\w-]{1,64})\.([\w-]{43})$/

/** Null for a state that this session did not make, or that is over. */
export function readConnectionState(secret: string, given: string, now: number): ConnectionState | null {
  const [, text = '', storeId, end, mac = ''] = STATE.exec(given) ?? []
  if (text === '') return null
  const expected = keyed(secret, 'connection state', text)
  const sent = Buffer.from(mac, 'base64url')
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected) || Number(end) < now) return null
  return { storeId: Number(storeId), verifier: verifierOf(secret, text) }
}
