import type { LedgerStores } from '#integrity/audit/verify.ts'
import { companyIdOfStream } from '#ledger/envelope.ts'
import { companiesOnOtherShards } from '#ledger/migration-state.ts'
import { companiesOfFiles } from './checkpoint-files.ts'

/** Of a table that has many rows for each company: one look at the index for each. */
const companiesOf = (table: string): string => `
  with recursive each as (
    select min(company_id) as company_id from ops.${table}
    union all
    select (select min(t.company_id) from ops.${table} t where t.company_id > each.company_id) from each
    where each.company_id is not null
  )
  select company_id from each where company_id is not null`

/**
 * Ids of companies that the read model, the store, seals in the folder or the installation log know: one whose ledger is gone from
 * some of them is not forgotten (PROOF-25). One that lives in another home is that one's to look after.
 */
export async function knownCompanies({ pool, store }: LedgerStores, directory: string | null): Promise<number[]> {
  const { rows } = await pool.query<{ company_id: number }>(
    `select company_id from ledgers where revision >= 0
     union (${companiesOf('ledger_checkpoints')})
     union (${companiesOf('installation_entries')})`,
  )
  const ids = new Set([
    ...rows.map(({ company_id }) => company_id),
    ...(directory === null ? [] : await companiesOfFiles(directory)),
  ])
  for await (const stream of store.streams()) {
    const companyId = companyIdOfStream(stream)
    if (companyId !== null) ids.add(companyId)
  }
  for (const companyId of await companiesOnOtherShards(pool)) ids.delete(companyId)
  return [...ids].sort((a, b) => a - b)
}
