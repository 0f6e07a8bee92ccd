import { z } from 'zod'
import { ExternalId } from '#domain/text.ts'
import { createPerson } from './create-person.ts'
import { checkDocument, personShape } from './person-input.ts'
import { supplierKind, supplierOf, supplierShape } from './supplier-kind.ts'

/** POST /suppliers, and the body of PUT by-external, whose external id is in the path. */
export const CreateSupplierInput = z
  .strictObject({ external_id: ExternalId.nullish(), ...personShape, ...supplierShape })
  .superRefine(checkDocument)
export type CreateSupplierInput = z.infer<typeof CreateSupplierInput>

export const createSupplier = createPerson(supplierKind, (input: CreateSupplierInput) => supplierOf(input))
