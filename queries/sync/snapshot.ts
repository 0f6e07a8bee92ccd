import type { Pool } from 'pg'
import { inTransaction, type Transaction } from '../../src/ledger/transaction.ts'

/** Reads in several statements what was true at one moment. The moment is that of the first statement. */
export function inSnapshot<T>(pool: Pool, read: (tx: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (tx, client) => {
    await client.query('set transaction isolation level repeatable read, read only')
    return read(tx)
  })
}

/** Takes JSON texts of records, joined by commas; false when no more are wanted. */
export type TakeRecords = (records: string) => boolean
