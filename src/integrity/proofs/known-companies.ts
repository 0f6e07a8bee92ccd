import type { LedgerStores } from '#integrity/audit/verify.ts'
import { companyIdOfStream } from '#ledger/envelope.ts'
import { companiesOfFiles } from './checkpoint-files.ts'
import { departedCompanies } from './installation.ts'

/** For a table with many rows per company: one index lookup for each company. */
const companiesOf = (table: string): string => `
  with recursive each as (
    select min(company_id) as company_id from ops.${table}
    union all
    select (select min(t.company_id) from ops.${table} t where t.company_id > each.company_id) from each
    where each.company_id is not null
  )
  select company_id from each where company_id is not null`

/**
 * Companies known to the read model, the store, the checkpoint folder or the installation log. A ledger missing from
 * some of them is still found (PROOF-25).
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
  for (const companyId of await departedCompanies(pool)) ids.delete(companyId)
  return [...ids].sort((a, b) => a - b)
}
