import { createReceivable, settleReceivable } from '#commands/finance/receivables.ts'
import { createCustomer } from '#commands/people/customers.ts'
import { invoke } from '#ledger/command.ts'
import { streamOf } from '#ledger/envelope.ts'
import type { Core } from '#service/core.ts'
import { run } from './shop.ts'

/** Commands per request, the maximum of a batch. */
const BATCH = 500

/** Fills a ledger with about `events` events of customers with accounts. Returns the last revision. */
export async function fill(core: Core, companyId: number, events: number): Promise<number> {
  let revision = -1
  for (let count = 0; revision < events; count += BATCH) {
    const numbers = Array.from({ length: BATCH }, (_, index) => count + index)
    const customers = numbers.map((number) =>
      invoke(createCustomer, { person_type: 'PF', name: `Cliente nº ${number}` }),
    )
    const ids = await run(core, companyId, customers)
    const due = ids.map((customer_id) => ({
      description: 'Mensalidade',
      amount: '150.00',
      due_date: '2026-03-10',
      customer_id,
    }))
    const accounts = await run(
      core,
      companyId,
      due.map((account) => invoke(createReceivable, account)),
    )
    const payments = accounts.map((id) => invoke(settleReceivable, { id, payment_method: 'pix' as const }))
    await run(core, companyId, payments)
    const { rows } = await core.pool.query<{ revision: number }>('select revision from ledgers where company_id = $1', [
      companyId,
    ])
    revision = rows[0]?.revision ?? -1
  }
  return revision
}

/** Reads a ledger to its end without processing it. */
export async function readAll(core: Core, companyId: number, revision: number): Promise<void> {
  let last = -1
  for await (const event of core.store.read(streamOf(companyId), 0)) last = event.revision
  if (last !== revision) throw new Error(`the ledger ends at ${last}, not at ${revision}`)
}
