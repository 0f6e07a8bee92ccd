import { z } from 'zod'
import { NewExternalId } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { type CustomerOfReceivable, receivableByExternalId, receivableById } from '#projections/finance.ts'
import { customerByExternalId, customerById } from '#projections/people.ts'
import { type CustomerName, customerShape } from '../people/named-customer.ts'
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

const named = ({ customer_id, customer_external_id }: CustomerName) => ({
  id: customer_id,
  external_id: customer_external_id,
})

/** Body of POST /finance/receivables and of PUT by-external (its external id comes from the path). */
export const CreateReceivableInput = z
  .strictObject({ external_id: NewExternalId.nullish(), ...accountShape, ...customerShape })
  .superRefine(checkParty('customer', named))
export type CreateReceivableInput = z.infer<typeof CreateReceivableInput>

/** Body of PUT /finance/receivables/by-external/{external_id}, and each item of a batch. */
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

const side: AccountSide<CustomerOfReceivable, CustomerName> = {
  name: 'receivable',
  party: customer,
  byId: receivableById,
  byExternalId: receivableByExternalId,
  created: (id, start) => event('ReceivableCreated', { id, ...start }),
  updated: (id, changes) => event('ReceivableUpdated', { id, changes }),
  deleted: (id) => event('ReceivableDeleted', { id }),
  revived: (id, fields) => event('ReceivableRevived', { id, ...fields }),
  settled: (id, settlement) => event('ReceivableSettled', { id, ...settlement }),
}

export const createReceivable = createAccount(side)
export const replaceReceivable = replaceAccount(side)
export const updateReceivable = updateAccount(side)
export const deleteReceivable = deleteAccount(side)
export const settleReceivable = settleAccount(side)
