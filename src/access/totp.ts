import { Secret, TOTP } from 'otpauth'

/** The parameters that authenticator apps support without exception (RFC 6238). */
const PERIOD_S = 30
const OPTIONS = { algorithm: 'SHA1', digits: 6, period: PERIOD_S } as const

/** Time steps before and after the present one that are accepted, for clocks that differ. */
const WINDOW = 1

/** 160 bits, as RFC 4226 recommends: 32 characters in base32. */
const SECRET_BYTES = 20
const SECRET_FORMAT = /^[A-Z2-7]{32}$/

export const createTotpSecret = (): string => new Secret({ size: SECRET_BYTES }).base32

export const isTotpSecret = (text: string): boolean => SECRET_FORMAT.test(text)

export const isTotpCode = (text: string): boolean => /^\d{6}$/.test(text)

/** Address for authenticator apps, usually read from a QR code. */
export const totpUri = (secret: string, email: string): string =>
  new TOTP({ ...OPTIONS, issuer: 'Tillbook', label: email, secret: Secret.fromBase32(secret) }).toString()

/** Time step of a code at a time; null if the code is of none of the accepted steps. */
export function stepOfTotp(secret: string, code: string, atMs: number): number | null {
  if (!isTotpCode(code)) return null
  const options = { ...OPTIONS, secret: Secret.fromBase32(secret) }
  const delta = TOTP.validate({ ...options, token: code, timestamp: atMs, window: WINDOW })
  return delta === null ? null : Math.floor(atMs / 1000 / PERIOD_S) + delta
}
