import { createHash, randomBytes } from 'node:crypto'
import type { Pool } from 'pg'

/** Codes of a set; a new set replaces the former one. */
const RECOVERY_CODES = 10

/** 80 bits: the hash needs no salt, and a code cannot be guessed. */
const CODE_BYTES = 10

/** Without letters and digits that look alike: Crockford's base32. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const FORMAT = /^[0-9a-hjkmnp-tv-z]{16}$/

/** A new set of codes, as `k3x9-7m2q-wd0v-8htz`. They are shown once and stored as hashes. */
const newCodes = (): string[] => Array.from({ length: RECOVERY_CODES }, createCode)

function createCode(): string {
  let bits = BigInt(`0x${randomBytes(CODE_BYTES).toString('hex')}`)
  let text = ''
  for (let n = 0; n < (CODE_BYTES * 8) / 5; n++, bits >>= 5n) text += ALPHABET[Number(bits & 31n)]
  return (text.match(/.{4}/g) ?? []).join('-')
}

/** Hash of a typed code, with or without hyphens; null if the format is wrong. */
export function recoveryCodeHash(typed: string): Buffer | null {
  const code = typed.toLowerCase().replace(/[\s-]/g, '').replaceAll('o', '0').replace(/[il]/g, '1')
  return FORMAT.test(code) ? createHash('sha256').update(`recovery code\n${code}`).digest() : null
}

/** Codes of a person for a lost device. Each is valid once. */
export interface RecoveryCodes {
  count(email: string): Promise<number>
  /** A new set in place of the former one; null without a second factor. */
  renew(email: string): Promise<readonly string[] | null>
  /** Uses up a code; false for a wrong or used one. */
  use(email: string, typed: string): Promise<boolean>
}

export const createRecoveryCodes = (pool: Pool): RecoveryCodes => ({
  async count(email) {
    const { rows } = await pool.query<{ left: number }>({ ...COUNT_CODES, values: [email] })
    return rows[0]?.left ?? 0
  },
  async renew(email) {
    const codes = newCodes()
    const { rows } = await pool.query({ ...RENEW_CODES, values: [email, codes.map(recoveryCodeHash)] })
    return rows.length > 0 ? codes : null
  },
  async use(email, typed) {
    const hash = recoveryCodeHash(typed)
    return hash !== null && (await pool.query({ ...USE_CODE, values: [email, hash] })).rowCount === 1
  },
})

/** One statement cannot see its own deletion: the new codes differ from the former ones. */
const RENEW_CODES = {
  name: 'renew_recovery_codes',
  text: `with factors as materialized (select email from ops.second_factors where email = $1 limit 1),
           former as (delete from ops.recovery_codes where email in (select email from factors))
         insert into ops.recovery_codes (email, hash)
         select email, hash from factors cross join unnest($2::bytea[]) as codes(hash) returning hash`,
}

const COUNT_CODES = {
  name: 'count_recovery_codes',
  text: 'select count(*)::integer as left from ops.recovery_codes where email = $1 and used_at is null',
}

const USE_CODE = {
  name: 'use_recovery_code',
  text: `update ops.recovery_codes set used_at = clock_timestamp() where email = $1 and hash = $2 and used_at is null`,
}
