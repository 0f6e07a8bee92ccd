import type { Pool } from 'pg'
import { inTransaction, type Transaction } from '#ledger/transaction.ts'

/**
 * In the order of an index and by key only. Statistics of a table that was just filled know nothing of it: by them all
 * products would be sorted again for each piece, and 50,000 take half a minute instead of half a second.
 */
const BEGIN = `
  set transaction isolation level repeatable read, read only;
  set local enable_sort = off; set local enable_seqscan = off; set local enable_bitmapscan = off;
  set local enable_hashjoin = off; set local enable_mergejoin = off; set local jit = off`

/** Reads in several statements what was true at one moment. The moment is that of the first statement. */
export function inSnapshot<T>(pool: Pool, read: (tx: Transaction) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (tx, client) => {
    await client.query(BEGIN)
    return read(tx)
  })
}

/** Takes JSON texts of records, joined by commas; false when no more are wanted. */
export type TakeRecords = (records: string) => boolean
