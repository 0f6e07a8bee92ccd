import * as z from 'zod'
import { NewExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import type { NewEvent } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import {
  type CustomerOfReceivable,
  payableByExternalId,
  payableById,
  receivableByExternalId,
  receivableById,
  type SupplierOfPayable,
} from '#projections/finance.ts'
import { customerByExternalId, customerById, supplierByExternalId, supplierById } from '#projections/people.ts'
import type { SaleRow } from '#projections/sales.ts'
import { ACCOUNT_FIELDS, CUSTOMER_OF_ACCOUNT, SUPPLIER_OF_ACCOUNT } from '#records/accounts.ts'
import { changesShape, wholeShape } from '#records/field.ts'
import {
  type AccountSide,
  checkParty,
  createAccount,
  deleteAccount,
  newAccount,
  type PartyKind,
  replaceAccount,
  updateAccount,
} from './account-commands.ts'
import { goodsReturnedEvents, payAccount, payAccounts, reverseAccountPayment, settleAccount } from './pay-accounts.ts'
import { recordEvent } from './record-commands.ts'
import type { CustomerName } from './sale-lines.ts'

const namedCustomer = ({ customer_id, customer_external_id }: CustomerName) => ({
  id: customer_id,
  external_id: customer_external_id,
})

/** Body of POST /finance/receivables. */
export const CreateReceivableInput = newAccount(wholeShape(CUSTOMER_OF_ACCOUNT)).superRefine(
  checkParty('customer', namedCustomer),
)
export type CreateReceivableInput = z.infer<typeof CreateReceivableInput>

/** Body of PUT /finance/receivables/by-external/{external_id}; its external id comes from the path. */
export const ReceivableReplacement = z
  .strictObject(wholeShape({ ...ACCOUNT_FIELDS, ...CUSTOMER_OF_ACCOUNT }))
  .superRefine(checkParty('customer', namedCustomer))

/** Each item of a batch, and a ReceivableReplacement with its external id. */
export const ReplaceReceivableInput = z
  .strictObject({ ...wholeShape({ ...ACCOUNT_FIELDS, ...CUSTOMER_OF_ACCOUNT }), external_id: NewExternalId })
  .superRefine(checkParty('customer', namedCustomer))
export type ReplaceReceivableInput = z.infer<typeof ReplaceReceivableInput>

/** Body of PATCH /finance/receivables/{id}; a null id or external id removes the customer. */
export const ReceivableChanges = z
  .strictObject(changesShape({ ...ACCOUNT_FIELDS, ...CUSTOMER_OF_ACCOUNT }))
  .superRefine(checkParty('customer', namedCustomer))

const customer: PartyKind<CustomerOfReceivable, CustomerName> = {
  field: 'customer',
  unknown: 'cliente não encontrado',
  byId: customerById,
  byExternalId: customerByExternalId,
  named: namedCustomer,
  recorded: (party) => ({
    customer_id: party?.id ?? null,
    customer_external_id: party?.external_id ?? null,
    customer_name: party?.name ?? null,
  }),
}

export const receivableSide: AccountSide<CustomerOfReceivable, CustomerName> = {
  name: 'receivable',
  party: customer,
  byId: receivableById,
  byExternalId: receivableByExternalId,
  created: (id, start) => recordEvent('ReceivableCreated', { id, ...start }),
  updated: (id, changes, forgiven) => event('ReceivableUpdated', { id, changes, ...forgiven }),
  deleted: (id, forgiven) => event('ReceivableDeleted', { id, ...forgiven }),
  revived: (id, fields) => recordEvent('ReceivableRevived', { id, ...fields }),
  paid: (id, payment) => event('ReceivablePaymentReceived', { id, ...payment }),
  paymentReversed: (id, reversal) => event('ReceivablePaymentReversed', { id, ...reversal }),
  settled: (id, settlement) => event('ReceivableSettled', { id, ...settlement }),
}

export const createReceivable = createAccount(receivableSide)
export const replaceReceivable = replaceAccount(receivableSide)
export const updateReceivable = updateAccount(receivableSide)
export const deleteReceivable = deleteAccount(receivableSide)
export const settleReceivable = settleAccount(receivableSide)
export const payReceivable = payAccount(receivableSide)
export const reverseReceivablePayment = reverseAccountPayment(receivableSide)
export const payReceivables = payAccounts(receivableSide)

type SupplierName = z.infer<z.ZodObject<ReturnType<typeof wholeShape<typeof SUPPLIER_OF_ACCOUNT>>>>

const namedSupplier = ({ supplier_id, supplier_external_id }: SupplierName) => ({
  id: supplier_id,
  external_id: supplier_external_id,
})

/** Body of POST /finance/payables. */
export const CreatePayableInput = newAccount(wholeShape(SUPPLIER_OF_ACCOUNT)).superRefine(
  checkParty('supplier', namedSupplier),
)
export type CreatePayableInput = z.infer<typeof CreatePayableInput>

/** Body of PUT /finance/payables/by-external/{external_id}; its external id comes from the path. */
export const PayableReplacement = z
  .strictObject(wholeShape({ ...ACCOUNT_FIELDS, ...SUPPLIER_OF_ACCOUNT }))
  .superRefine(checkParty('supplier', namedSupplier))

/** Each item of a batch, and a PayableReplacement with its external id. */
export const ReplacePayableInput = z
  .strictObject({ ...wholeShape({ ...ACCOUNT_FIELDS, ...SUPPLIER_OF_ACCOUNT }), external_id: NewExternalId })
  .superRefine(checkParty('supplier', namedSupplier))
export type ReplacePayableInput = z.infer<typeof ReplacePayableInput>

/** Body of PATCH /finance/payables/{id}; a null id or external id removes the supplier. */
export const PayableChanges = z
  .strictObject(changesShape({ ...ACCOUNT_FIELDS, ...SUPPLIER_OF_ACCOUNT }))
  .superRefine(checkParty('supplier', namedSupplier))

const supplier: PartyKind<SupplierOfPayable, SupplierName> = {
  field: 'supplier',
  unknown: 'fornecedor não encontrado',
  byId: supplierById,
  byExternalId: supplierByExternalId,
  named: namedSupplier,
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
  created: (id, start) => recordEvent('PayableCreated', { id, ...start }),
  updated: (id, changes) => event('PayableUpdated', { id, changes }),
  deleted: (id) => event('PayableDeleted', { id }),
  revived: (id, fields) => recordEvent('PayableRevived', { id, ...fields }),
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

type OfCredit = Pick<SaleRow, 'receivable_ids'>

/** Accounts of a sale on credit. */
export const receivableRefs = ({ receivable_ids }: OfCredit): AnyRef[] => receivable_ids.map(receivableById)

/** Accounts of the sale that are still owed, oldest first, with what is open of them in cents. */
const openAccounts = (rows: Rows, { receivable_ids }: OfCredit): { id: number; cents: number }[] =>
  receivable_ids.flatMap((id) => {
    const account = rows.get(receivableById(id))
    return account && !account.deleted_at && account.open_cents > 0 ? [{ id, cents: account.open_cents }] : []
  })

/** What the buyer still owes for the sale, in cents. */
export const sumOpenAccounts = (rows: Rows, sale: OfCredit): number =>
  openAccounts(rows, sale).reduce((sum, { cents }) => sum + cents, 0)

/** Events that lower the open accounts of a sale by an amount in cents, as far as they are open. */
export function lowerReceivables(rows: Rows, sale: OfCredit, cents: number, at: string): NewEvent[] {
  let left = cents
  return openAccounts(rows, sale).flatMap(({ id, cents: open }) => {
    const part = Math.min(open, left)
    left -= part
    return part === 0 ? [] : goodsReturnedEvents(receivableSide, rows, id, { cents: part, at })
  })
}
