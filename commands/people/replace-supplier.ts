import { z } from 'zod'
import { ExternalId } from '#domain/text.ts'
import { checkDocument, personShape } from './person-input.ts'
import { replacePerson } from './replace-person.ts'
import { supplierKind, supplierOf, supplierShape } from './supplier-kind.ts'

/** PUT /suppliers/by-external/{external_id}, and each item of a batch. */
export const ReplaceSupplierInput = z
  .strictObject({ external_id: ExternalId, ...personShape, ...supplierShape })
  .superRefine(checkDocument)
export type ReplaceSupplierInput = z.infer<typeof ReplaceSupplierInput>

export const replaceSupplier = replacePerson(supplierKind, (input: ReplaceSupplierInput) => supplierOf(input))
