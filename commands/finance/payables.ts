import { z } from 'zod'
import { ExternalId, Id, NewExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { payableByExternalId, payableById, type SupplierOfPayable } from '#projections/finance.ts'
import { supplierByExternalId, supplierById } from '#projections/people.ts'
import {
  type AccountSide,
  createAccount,
  deleteAccount,
  type PartyKind,
  replaceAccount,
  updateAccount,
} from './account-commands.ts'
import { accountChangesShape, accountShape, checkParty } from './account-input.ts'
import { settleAccount } from './settle-account.ts'

/** Optional supplier, by id or external id. */
const supplierShape = { supplier_id: Id.nullish(), supplier_external_id: ExternalId.nullish() }

type SupplierName = z.infer<z.ZodObject<typeof supplierShape>>

const named = ({ supplier_id, supplier_external_id }: SupplierName) => ({
  id: supplier_id,
  external_id: supplier_external_id,
})

/** Body of POST /finance/payables and of PUT by-external (its external id comes from the path). */
export const CreatePayableInput = z
  .strictObject({ external_id: NewExternalId.nullish(), ...accountShape, ...supplierShape })
  .superRefine(checkParty('supplier', named))
export type CreatePayableInput = z.infer<typeof CreatePayableInput>

/** Body of PUT /finance/payables/by-external/{external_id}, and each item of a batch. */
export const ReplacePayableInput = z
  .strictObject({ external_id: NewExternalId, ...accountShape, ...supplierShape })
  .superRefine(checkParty('supplier', named))
export type ReplacePayableInput = z.infer<typeof ReplacePayableInput>

/** Body of PATCH /finance/payables/{id}; a null id or external id removes the supplier. */
export const PayableChanges = z
  .strictObject({ ...accountChangesShape, ...supplierShape })
  .superRefine(checkParty('supplier', named))

const supplier: PartyKind<SupplierOfPayable, SupplierName> = {
  field: 'supplier',
  unknown: 'fornecedor não encontrado',
  byId: supplierById,
  byExternalId: supplierByExternalId,
  named,
  recorded: (party) => ({
    supplier_id: party?.id ?? null,
    supplier_external_id: party?.external_id ?? null,
    supplier_name: party?.name ?? null,
  }),
}

const side: AccountSide<SupplierOfPayable, SupplierName> = {
  name: 'payable',
  party: supplier,
  byId: payableById,
  byExternalId: payableByExternalId,
  created: (id, start) => event('PayableCreated', { id, ...start }),
  updated: (id, changes) => event('PayableUpdated', { id, changes }),
  deleted: (id) => event('PayableDeleted', { id }),
  revived: (id, fields) => event('PayableRevived', { id, ...fields }),
  settled: (id, settlement) => event('PayableSettled', { id, ...settlement }),
}

export const createPayable = createAccount(side)
export const replacePayable = replaceAccount(side)
export const updatePayable = updateAccount(side)
export const deletePayable = deleteAccount(side)
export const settlePayable = settleAccount(side)
