/** Bytes of a signing secret: 256 bits; Standard Webhooks requires 192 to 512. */
export const SECRET_BYTES = 32

/** Text of a secret: `whsec_` and the bytes in base64. The whole text is the key of the HOOK-13 signature. */
export const formatWebhookSecret = (random: Buffer): string => `whsec_${random.toString('base64')}`

/** Secret of an endpoint (`whsec_…`); during a rotation also the next one, which replaces it at `switch_at`. */
export interface SigningSecrets {
  readonly secret: string
  readonly next_secret: string | null
  readonly switch_at: string | null
}

/** Current signing secret, and during the overlap of a rotation the next one; `now` in Unix ms. */
export function secretsAt({ secret, next_secret, switch_at }: SigningSecrets, now: number) {
  if (next_secret === null || switch_at === null) return { secret, next: null }
  return Date.parse(switch_at) <= now ? { secret: next_secret, next: null } : { secret, next: next_secret }
}
