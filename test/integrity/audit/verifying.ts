import { expect } from 'chai'
import type { Pool } from 'pg'
import { type Verification, type VerifyOptions, verifyLedger } from '#integrity/verify.ts'
import type { EventStore } from '#ledger/port.ts'
import { createPostgresStore } from '#ledger/stores/postgres-store.ts'
import { createPool } from '#postgres/pool.ts'
import { useDatabase } from '../../support/database.ts'

interface Verifying {
  readonly pool: Pool
  readonly store: EventStore
  verify(companyId: number, options?: VerifyOptions): Promise<Verification>
  /** Position and kind of the first fault, as `2 wrong_hash`; asserts that everything before it is valid. */
  faultIn(companyId: number): Promise<string>
}

/** Database with ledgers to tamper with (tampering.ts), and their verification. */
export function useVerifying(): Verifying {
  const database = useDatabase()
  let pool: Pool

  before(() => {
    pool = createPool(database.ownerUrl, { max: 2 })
  })
  after(() => pool.end())

  const verify: Verifying['verify'] = (companyId, options = {}) =>
    verifyLedger({ pool, store: createPostgresStore(pool) }, companyId, options)
  return {
    get pool() {
      return pool
    },
    get store() {
      return createPostgresStore(pool)
    },
    verify,
    async faultIn(companyId) {
      const { valid, checked, revision, first_error } = await verify(companyId)
      expect(valid).to.equal(first_error === null)
      expect(checked).to.equal(revision + 1)
      return first_error ? `${first_error.revision} ${first_error.reason}` : 'none'
    },
  }
}
