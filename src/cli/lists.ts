import type { CompanyObject } from '#projections/companies.ts'
import type { PaymentTypeObject } from '#projections/payment-types.ts'
import type { StoreObject } from '#projections/stores.ts'
import type { UserObject } from '#projections/users.ts'
import { listApiKeys } from '#queries/api-keys.ts'
import { type Context, readerFrom, type Verb, type Verbs } from './verb.ts'

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
export const verbs: Verbs<'company list' | 'key list' | 'shard list' | RecordList> = {
  'company list': {
    async run(context) {
      const shards = await context.readers()
      const listed: (CompanyObject & { readonly shard?: string })[] = []
      for (const { name, reader } of shards) {
        const { rows } = await reader.pool.query<{ doc: CompanyObject }>('select doc from companies')
        listed.push(...rows.map(({ doc }) => (shards.length === 1 ? doc : { ...doc, shard: name })))
      }
      return listed.sort((a, b) => a.id - b.id)
    },
  },
  'payment-type list': listOf<PaymentTypeObject>('payment_types'),
  'user list': listOf<UserObject>('users'),
  'store list': listOf<StoreObject>('stores'),
  'key list': {
    async run(context, { company }) {
      const { pool, companyId } = await readerFrom(context, company)
      return listApiKeys(pool, companyId)
    },
  },
  'shard list': {
    async run(context) {
      const shards = await (await context.directory()).shards()
      return Promise.all(
        shards.map(async ({ name, ...figures }) => ({ name, ...figures, reachable: await isReachable(context, name) })),
      )
    },
  },
}

const isReachable = (context: Context, shard: string): Promise<boolean> =>
  context.reader(shard).then(
    () => true,
    () => false,
  )
