import * as z from 'zod'
import { ExternalId, Id, NewExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { payableByExternalId, payableById, type SupplierOfPayable } from '#projections/finance.ts'
import { supplierByExternalId, supplierById } from '#projections/people.ts'
import { withoutEmpty } from '../records.ts'
import {
  type AccountSide,
  createAccount,
  deleteAccount,
  type PartyKind,
  replaceAccount,
  updateAccount,
} from './account-commands.ts'
import { accountChangesShape, accountShape, checkParty, newAccount } from './account-input.ts'
import { payAccount, reverseAccountPayment } from './account-payments.ts'
import { payAccounts } from './pay-accounts.ts'
import { settleAccount } from './settle-account.ts'

/** Optional supplier, by id or external id. */
const supplierShape = { supplier_id: Id.nullish(), supplier_external_id: ExternalId.nullish() }

type SupplierName = z.infer<z.ZodObject<typeof supplierShape>>

const named = ({ supplier_id, supplier_external_id }: SupplierName) => ({
  id: supplier_id,
  external_id: supplier_external_id,
})

/** Body of POST /finance/payables. */
export const CreatePayableInput = newAccount(supplierShape).superRefine(checkParty('supplier', named))
export type CreatePayableInput = z.infer<typeof CreatePayableInput>

/** Body of PUT /finance/payables/by-external/{external_id}; its external id comes from the path. */
export const PayableReplacement = z
  .strictObject({ external_id: NewExternalId.nullish(), ...accountShape, ...supplierShape })
  .superRefine(checkParty('supplier', named))

/** Each item of a batch, and a PayableReplacement with its external id. */
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

export const payableSide: AccountSide<SupplierOfPayable, SupplierName> = {
  name: 'payable',
  party: supplier,
  byId: payableById,
  byExternalId: payableByExternalId,
  created: (id, start) => event('PayableCreated', { id, ...withoutEmpty(start, ['metadata']) }),
  updated: (id, changes) => event('PayableUpdated', { id, changes }),
  deleted: (id) => event('PayableDeleted', { id }),
  revived: (id, fields) => event('PayableRevived', { id, ...withoutEmpty(fields, ['metadata']) }),
  paid: (id, payment) => event('PayablePaymentMade', { id, ...payment }),
  paymentReversed: (id, reversal) => event('PayablePaymentReversed', { id, ...reversal }),
  settled: (id, settlement) => event('PayableSettled', { id, ...settlement }),
}

export const createPayable = createAccount(payableSide)
export const replacePayable = replaceAccount(payableSide)
export const updatePayable = updateAccount(payableSide)
export const deletePayable = deleteAccount(payableSide)
export const settlePayable = settleAccount(payableSide)
export const payPayable = payAccount(payableSide)
export const reversePayablePayment = reverseAccountPayment(payableSide)
export const payPayables = payAccounts(payableSide)
