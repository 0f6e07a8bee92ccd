/** Bytes of a signing secret: 256 bits, as Standard Webhooks asks for 192 to 512. */
export const SECRET_BYTES = 32

/** The text of a secret: `whsec_` and the bytes in base64. As a whole it is the key of the spec's signature. */
export const secretOf = (random: Buffer): string => `whsec_${random.toString('base64')}`
