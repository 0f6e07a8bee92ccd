/** Bytes of a signing secret: 256 bits, as Standard Webhooks asks for 192 to 512. */
export const SECRET_BYTES = 32

/** The text of a secret: `whsec_` and the bytes in base64. As a whole it is the key of our own signature (HOOK-13). */
export const secretOf = (random: Buffer): string => `whsec_${random.toString('base64')}`

/** The secret of an endpoint (`whsec_…`), and during a rotation the next one, which takes its place at `switch_at`. */
export interface SigningSecrets {
  readonly secret: string
  readonly next_secret: string | null
  readonly switch_at: string | null
}

/** The secret that signs, and during the overlap of a rotation the one that will; `now` in milliseconds since 1970. */
export function secretsAt({ secret, next_secret, switch_at }: SigningSecrets, now: number) {
  if (next_secret === null || switch_at === null) return { secret, next: null }
  return Date.parse(switch_at) <= now ? { secret: next_secret, next: null } : { secret, next: next_secret }
}
