import * as z from 'zod'
import { NewExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { type CustomerOfReceivable, receivableByExternalId, receivableById } from '#projections/finance.ts'
import { customerByExternalId, customerById } from '#projections/people.ts'
import { type CustomerName, customerShape } from '../people/named-customer.ts'
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

const named = ({ customer_id, customer_external_id }: CustomerName) => ({
  id: customer_id,
  external_id: customer_external_id,
})

/** Body of POST /finance/receivables. */
export const CreateReceivableInput = newAccount(customerShape).superRefine(checkParty('customer', named))
export type CreateReceivableInput = z.infer<typeof CreateReceivableInput>

/** Body of PUT /finance/receivables/by-external/{external_id}; its external id comes from the path. */
export const ReceivableReplacement = z
  .strictObject({ external_id: NewExternalId.nullish(), ...accountShape, ...customerShape })
  .superRefine(checkParty('customer', named))

/** Each item of a batch, and a ReceivableReplacement with its external id. */
export const ReplaceReceivableInput = z
  .strictObject({ external_id: NewExternalId, ...accountShape, ...customerShape })
  .superRefine(checkParty('customer', named))
export type ReplaceReceivableInput = z.infer<typeof ReplaceReceivableInput>

/** Body of PATCH /finance/receivables/{id}; a null id or external id removes the customer. */
export const ReceivableChanges = z
  .strictObject({ ...accountChangesShape, ...customerShape })
  .superRefine(checkParty('customer', named))

const customer: PartyKind<CustomerOfReceivable, CustomerName> = {
  field: 'customer',
  unknown: 'cliente não encontrado',
  byId: customerById,
  byExternalId: customerByExternalId,
  named,
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
  created: (id, start) => event('ReceivableCreated', { id, ...withoutEmpty(start, ['metadata']) }),
  updated: (id, changes, forgiven) => event('ReceivableUpdated', { id, changes, ...forgiven }),
  deleted: (id, forgiven) => event('ReceivableDeleted', { id, ...forgiven }),
  revived: (id, fields) => event('ReceivableRevived', { id, ...withoutEmpty(fields, ['metadata']) }),
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
