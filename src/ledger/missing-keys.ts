import type { Pool } from 'pg'
import { Unavailable } from '#lib/errors.ts'
import { companyIdOfStream } from './envelope.ts'
import { CannotOpen } from './personal-fields.ts'

/**
 * Why a company is read-only, as stored in `ops.ledgers`. `pending`: events with unreadable fields are not applied;
 * `blank`: the tables were rebuilt with these fields empty.
 */
export type MissingKeys = 'pending' | 'blank'

/** The company is read-only until its person keys are restored or declared lost (LEDGER-51). */
export class KeysMissing extends Unavailable {
  constructor(companyId: number) {
    super(`company ${companyId} is read-only: fields of its ledger cannot be opened with the keys in ops.person_keys`)
  }
}

/**
 * Makes the company of a CannotOpen error read-only. True if it was not before, `known` if it was. False for any other
 * error.
 */
export async function blockFor(error: unknown, pool: Pool): Promise<boolean | 'known'> {
  if (!(error instanceof CannotOpen)) return false
  const { rows } = await pool.query<{ is_new: boolean }>(BLOCK, [companyIdOfStream(error.stream)])
  return rows[0] ? rows[0].is_new || 'known' : false
}

const BLOCK = `
  with blocked as (
    update ops.ledgers set missing_keys = 'pending' where company_id = $1 and missing_keys is null returning company_id)
  select exists (select from blocked) as is_new from ops.ledgers where company_id = $1`

/** Companies in state `pending`: their tables lack the last events only. */
export async function companiesPending(pool: Pool): Promise<readonly number[]> {
  const { rows } = await pool.query<{ company_id: number }>(
    `select company_id from ops.ledgers where missing_keys = 'pending' order by company_id`,
  )
  return rows.map(({ company_id }) => company_id)
}

/** Runs after all events of a company were applied. */
export async function unblock(pool: Pool, companyId: number, from: MissingKeys): Promise<void> {
  await pool.query('update ops.ledgers set missing_keys = null where company_id = $1 and missing_keys = $2', [
    companyId,
    from,
  ])
}

export async function missingKeysOf(pool: Pool, companyId: number): Promise<MissingKeys | null> {
  const { rows } = await pool.query<{ missing_keys: MissingKeys | null }>(
    'select missing_keys from ops.ledgers where company_id = $1',
    [companyId],
  )
  return rows[0]?.missing_keys ?? null
}

export async function companiesWithMissingKeys(pool: Pool): Promise<readonly number[]> {
  const { rows } = await pool.query<{ company_id: number }>({
    name: 'companies_with_missing_keys',
    text: 'select company_id from ops.ledgers where missing_keys is not null order by company_id limit 1000',
  })
  return rows.map(({ company_id }) => company_id)
}
