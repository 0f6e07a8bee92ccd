import type { Rows } from '#ledger/working-set.ts'
import { companyOf } from '#projections/companies.ts'

/** Whether nobody but this user could still administer the company: keys, users and webhooks are for owners. */
export function isLastOwner(rows: Rows, userId: number): boolean {
  const { active_owners } = companyOf(rows)
  return active_owners.length === 1 && active_owners[0] === userId
}
