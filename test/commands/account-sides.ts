import { AccountPaymentBody } from '#commands/account-commands.ts'
import * as payables from '#commands/receivables-payables.ts'
import * as receivables from '#commands/receivables-payables.ts'
import { event } from '#events/catalogue.ts'
import type { Command, NewEvent } from '#ledger/command.ts'
import {
  customerCreated,
  payableCreated,
  payablePaid,
  receivableCreated,
  receivablePaid,
  supplierCreated,
} from '../support/facts.ts'

type Fields = Record<string, unknown>

/** Receivables or payables, so that one test covers both. Inputs are parsed like requests. */
export interface Side {
  readonly subject: 'receivable' | 'payable'
  /** Prefix of the counterparty's fields. */
  readonly party: 'customer' | 'supplier'
  create(body: Fields): [Command<never>, never]
  replace(body: Fields): [Command<never>, never]
  update(id: number, changes: Fields): [Command<never>, never]
  remove(id: number): [Command<never>, never]
  settle(id: number, body: Fields): [Command<never>, never]
  pay(id: number, body: Fields): [Command<never>, never]
  reverse(id: number, payment: number, reason?: string): [Command<never>, never]
  created(fields?: Fields): NewEvent
  /** Event of the side: `Settled` is ReceivableSettled or PayableSettled. */
  /** What an event of less that is owed says of it. */
  forgave(discount: string): Fields
  happened(what: 'Updated' | 'Deleted' | 'Revived' | 'Settled' | 'PaymentReversed', data: Fields): NewEvent
  /** A payment, by default of 100.00. */
  paid(id: number, fields?: Fields): NewEvent
  /** Customer or supplier with id 3, external id `p3` and name Ana. */
  partyCreated(): NewEvent
  partyDeleted(): NewEvent
  /** Recorded fields of the counterparty: `{customer_id: 3, …}`, or all null. */
  partyFields(known: boolean): Fields
}

const pair = (command: unknown, input: unknown) => [command, input] as [Command<never>, never]

const partyFields = (party: string, known: boolean): Fields => ({
  [`${party}_id`]: known ? 3 : null,
  [`${party}_external_id`]: known ? 'p3' : null,
  [`${party}_name`]: known ? 'Ana' : null,
})

const ana = { id: 3, external_id: 'p3', name: 'Ana' }

const receivable: Side = {
  subject: 'receivable',
  party: 'customer',
  create: (body) => pair(receivables.createReceivable, receivables.CreateReceivableInput.parse(body)),
  replace: (body) => pair(receivables.replaceReceivable, receivables.ReplaceReceivableInput.parse(body)),
  update: (id, body) => pair(receivables.updateReceivable, { id, changes: receivables.ReceivableChanges.parse(body) }),
  remove: (id) => pair(receivables.deleteReceivable, { id }),
  settle: (id, body) => pair(receivables.settleReceivable, { ...body, id }),
  pay: (id, body) => pair(receivables.payReceivable, { ...AccountPaymentBody.parse(body), id }),
  reverse: (id, payment_id, reason = 'Engano') =>
    pair(receivables.reverseReceivablePayment, { id, payment_id, reason }),
  created: (fields) => receivableCreated(fields),
  paid: (id, fields) => receivablePaid(id, fields),
  forgave: (discount) => ({ discount }),
  happened: (what, data) => event(`Receivable${what}` as 'ReceivableDeleted', data as { id: number }),
  partyCreated: () => customerCreated(ana),
  partyDeleted: () => event('CustomerDeleted', { id: 3 }),
  partyFields: (known) => partyFields('customer', known),
}

const payable: Side = {
  subject: 'payable',
  party: 'supplier',
  create: (body) => pair(payables.createPayable, payables.CreatePayableInput.parse(body)),
  replace: (body) => pair(payables.replacePayable, payables.ReplacePayableInput.parse(body)),
  update: (id, body) => pair(payables.updatePayable, { id, changes: payables.PayableChanges.parse(body) }),
  remove: (id) => pair(payables.deletePayable, { id }),
  settle: (id, body) => pair(payables.settlePayable, { ...body, id }),
  pay: (id, body) => pair(payables.payPayable, { ...AccountPaymentBody.parse(body), id }),
  reverse: (id, payment_id, reason = 'Engano') => pair(payables.reversePayablePayment, { id, payment_id, reason }),
  created: (fields) => payableCreated(fields),
  paid: (id, fields) => payablePaid(id, fields),
  forgave: () => ({}),
  happened: (what, data) => event(`Payable${what}` as 'PayableDeleted', data as { id: number }),
  partyCreated: () => supplierCreated(ana),
  partyDeleted: () => event('SupplierDeleted', { id: 3 }),
  partyFields: (known) => partyFields('supplier', known),
}

export const SIDES: readonly Side[] = [receivable, payable]

/** Body with the required fields. */
export const body = { description: 'Aluguel', amount: '100.00', due_date: '2026-03-10' }

/** Details of `validation_failed` for one field. */
export const wrong = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })
