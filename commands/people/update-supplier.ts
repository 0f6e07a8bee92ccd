import { z } from 'zod'
import { ExternalId, Id } from '#domain/text.ts'
import { personChangesShape } from './person-input.ts'
import { supplierKind, supplierShape } from './supplier-kind.ts'
import { updatePerson } from './update-person.ts'

/** The body of PATCH /suppliers/{id}. */
export const SupplierChanges = z.strictObject({
  external_id: ExternalId.nullish(),
  ...personChangesShape,
  ...supplierShape,
})

export const UpdateSupplierInput = z.strictObject({ id: Id, changes: SupplierChanges })
export type UpdateSupplierInput = z.infer<typeof UpdateSupplierInput>

export const updateSupplier = updatePerson(supplierKind)
