import { hash, type Options, verify } from '@node-rs/argon2'
import { limitedText } from '#domain/text.ts'

const EXPECTED = 'deve ter de 8 a 200 caracteres'

/** A password chosen by a user. The upper bound limits the cost of hashing; there are no other rules. */
export const Password = limitedText(200, 'deve ser um texto', EXPECTED).min(8, EXPECTED)

/** Argon2id (the package's default) with the parameters that OWASP recommends for servers: about 20 ms. */
const COST: Options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** Verified for unknown e-mail addresses, so that the response takes the same time; no password matches it. */
let decoyHash: Promise<string> | undefined

/** Hash of a password for storage. */
export function hashPassword(password: string): Promise<string> {
  return hash(composed(password), COST)
}

/** Verifies a password against a hash. Null for an unknown user takes the same time and returns false. */
export async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  if (passwordHash !== null) return verify(passwordHash, composed(password))
  decoyHash ??= hashPassword('')
  await verify(await decoyHash, composed(password))
  return false
}

/** Keyboards write an accented letter as one character or as two. */
const composed = (password: string): string => password.normalize('NFC')
