import { text } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { type SupplierFields, supplierByExternalId, supplierById, supplierByName } from '#projections/people.ts'
import { personOf } from './person-fields.ts'
import type { PersonKind } from './person-kind.ts'

/** Suppliers as commands on persons see them. */
export const supplierKind: PersonKind<SupplierFields> = {
  name: 'supplier',
  byId: supplierById,
  byExternalId: supplierByExternalId,
  byName: supplierByName,
  created: (id, fields) => event('SupplierCreated', { id, ...fields }),
  updated: (id, changes) => event('SupplierUpdated', { id, changes }),
  deleted: (id) => event('SupplierDeleted', { id }),
  revived: (id, fields) => event('SupplierRevived', { id, ...fields }),
}

/** What a supplier has beside the fields of a person: the name it trades under, which need not be unique. */
export const supplierShape = { trade_name: text(120).nullish() }

type SupplierInput = Parameters<typeof personOf>[0] & { readonly trade_name?: string | null }

/** A whole supplier as it is recorded: what was not sent is empty. */
export const supplierOf = (input: SupplierInput): SupplierFields => ({
  ...personOf(input),
  trade_name: input.trade_name ?? null,
})
