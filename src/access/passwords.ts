import { hash, type Options, verify } from '@node-rs/argon2'
import { z } from 'zod'
import { expects } from '#domain/portuguese.ts'

const EXPECTED = 'deve ter de 8 a 200 caracteres'

/** A password that a user may choose. The upper bound keeps hashing cheap; nothing else is demanded. */
export const Password = z.string(expects('deve ser um texto')).min(8, EXPECTED).max(200, EXPECTED)

/** Argon2id (the package's default algorithm), as OWASP recommends it for a server that has other work to do: about 20 ms. */
const COST: Options = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** What is verified when nobody has the e-mail address, so that the time taken does not tell; no password fits it. */
let nobody: Promise<string> | undefined

/** The hash to keep of a password. */
export function hashPassword(password: string): Promise<string> {
  return hash(composed(password), COST)
}

/** Whether a password fits a hash; pass null when there is no such user, which takes as long and is never true. */
export async function verifyPassword(passwordHash: string | null, password: string): Promise<boolean> {
  if (passwordHash !== null) return verify(passwordHash, composed(password))
  nobody ??= hashPassword('')
  await verify(await nobody, composed(password))
  return false
}

/** Keyboards differ in how they write an accented letter: as one character or as two. */
const composed = (password: string): string => password.normalize('NFC')
