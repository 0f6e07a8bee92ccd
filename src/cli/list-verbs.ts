import type { QueryResultRow } from 'pg'
import { plainSql } from '#ledger/table.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { PaymentTypeObject, StoreObject } from '#projections/stores.ts'
import type { UserObject } from '#projections/users.ts'
import { listApiKeys } from '#queries/api-key-queries.ts'
import type { ReadStatement } from '#queries/reader.ts'
import { readerFrom, type Verb, type Verbs } from './verb.ts'

type RecordList = 'payment-type list' | 'user list' | 'store list'

/** Lists the documents of a table of records, in the order of their ids. */
const listOf = <T>(table: 'payment_types' | 'users' | 'stores'): Verb<RecordList> => ({
  async run(context, { company }) {
    const { pool, companyId } = await readerFrom(context, company)
    const { rows } = await pool.query<{ doc: T }>(`select doc from ${table} where company_id = $1 order by id`, [
      companyId,
    ])
    return rows.map(({ doc }) => doc)
  },
})

/** Verbs that list records, apart from the commands of their groups: those load what changes them. */
export const listVerbs: Verbs<'company list' | 'key list' | RecordList> = {
  'company list': {
    async run(context) {
      const { pool } = await context.reader()
      const { rows } = await pool.query<{ doc: CompanyObject }>('select doc from companies order by company_id')
      return rows.map(({ doc }) => doc)
    },
  },
  'payment-type list': listOf<PaymentTypeObject>('payment_types'),
  'user list': listOf<UserObject>('users'),
  'store list': listOf<StoreObject>('stores'),
  'key list': {
    async run(context, { company }) {
      const { pool, companyId } = await readerFrom(context, company)
      // A program sees everything: rules of tables, and what they load, are of no use to it.
      const query = <R extends QueryResultRow>({ values = [], readSet: _, ...statement }: ReadStatement) =>
        pool.query<R>({ ...statement, text: plainSql(statement.text), values: [companyId, ...values] })
      return listApiKeys({ query })
    },
  },
}
