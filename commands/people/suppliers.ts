import * as z from 'zod'
import { Id, NewExternalId, nameText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { type SupplierFields, supplierByExternalId, supplierById, supplierByName } from '#projections/people.ts'
import { withoutEmpty } from '../records.ts'
import { createPerson, deletePerson, type PersonCommandKind, replacePerson, updatePerson } from './person-commands.ts'
import { checkDocument, personChangesShape, personOf, personShape } from './person-input.ts'

const supplierKind: PersonCommandKind<SupplierFields> = {
  name: 'supplier',
  accounts: 'payables',
  byId: supplierById,
  byExternalId: supplierByExternalId,
  byName: supplierByName,
  created: (id, fields) => event('SupplierCreated', { id, ...withoutEmpty(fields, ['metadata']) }),
  updated: (id, changes) => event('SupplierUpdated', { id, changes }),
  deleted: (id) => event('SupplierDeleted', { id }),
  revived: (id, fields) => event('SupplierRevived', { id, ...withoutEmpty(fields, ['metadata']) }),
}

/** Additional field of suppliers: the trade name, which need not be unique. */
const supplierShape = { trade_name: nameText(120).nullish() }

type SupplierInput = Parameters<typeof personOf>[0] & { readonly trade_name?: string | null }

/** Recorded fields of a whole supplier; absent ones are null. */
const supplierOf = (input: SupplierInput): SupplierFields => ({
  ...personOf(input),
  trade_name: input.trade_name ?? null,
})

/** Body of POST /suppliers and of PUT by-external (its external id comes from the path). */
export const CreateSupplierInput = z
  .strictObject({ external_id: NewExternalId.nullish(), ...personShape, ...supplierShape })
  .superRefine(checkDocument)
export type CreateSupplierInput = z.infer<typeof CreateSupplierInput>

export const createSupplier = createPerson<SupplierFields, CreateSupplierInput>(supplierKind, supplierOf)

/** Body of PUT /suppliers/by-external/{external_id}, and each item of a batch. */
export const ReplaceSupplierInput = z
  .strictObject({ external_id: NewExternalId, ...personShape, ...supplierShape })
  .superRefine(checkDocument)
export type ReplaceSupplierInput = z.infer<typeof ReplaceSupplierInput>

export const replaceSupplier = replacePerson<SupplierFields, ReplaceSupplierInput>(supplierKind, supplierOf)

/** Body of PATCH /suppliers/{id}. */
export const SupplierChanges = z.strictObject({
  external_id: NewExternalId.nullish(),
  ...personChangesShape,
  ...supplierShape,
})

export const UpdateSupplierInput = z.strictObject({ id: Id, changes: SupplierChanges })
export type UpdateSupplierInput = z.infer<typeof UpdateSupplierInput>

export const updateSupplier = updatePerson(supplierKind)

export const deleteSupplier = deletePerson(supplierKind)
