import type { z } from 'zod'
import { forgotten, invalid, type Refusal } from '#domain/refusal.ts'
import { ExternalId, Id } from '#domain/text.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { customerByExternalId, customerById, type PersonRow } from '#projections/people.ts'

/** Customer in an input: by id, by external id, or absent. */
export const customerShape = { customer_id: Id.nullish(), customer_external_id: ExternalId.nullish() }

export type CustomerName = z.infer<z.ZodObject<typeof customerShape>>

export const customerRefs = ({ customer_id, customer_external_id }: CustomerName): AnyRef[] => [
  ...(typeof customer_id === 'number' ? [customerById(customer_id)] : []),
  ...(typeof customer_external_id === 'string' ? [customerByExternalId(customer_external_id)] : []),
]

/**
 * Customer in the input, null if absent. Both ids must belong to one customer (SALE-13) that is not forgotten (PRIV-6).
 */
export function findCustomer(rows: Rows, name: CustomerName): Readonly<PersonRow> | null | Refusal {
  const found = findNamed(rows, name)
  return found && 'doc' in found && found.doc.forgotten_at !== null ? forgotten(`customer/${found.id}`) : found
}

function findNamed(
  rows: Rows,
  { customer_id, customer_external_id }: CustomerName,
): Readonly<PersonRow> | null | Refusal {
  const byId = typeof customer_id === 'number' ? live(rows.get(customerById(customer_id))) : undefined
  if (byId === null) return invalid('customer_id', 'cliente não encontrado')
  if (typeof customer_external_id !== 'string') return byId ?? null
  const byExternalId = live(rows.get(customerByExternalId(customer_external_id)))
  if (byExternalId === null) return invalid('customer_external_id', 'cliente não encontrado')
  if (byId && byId.id !== byExternalId.id) return invalid('customer_external_id', 'é de outro cliente que customer_id')
  return byExternalId
}

const live = (row: Readonly<PersonRow> | null) => (row?.deleted_at ? null : row)
