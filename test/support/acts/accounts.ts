import fc from 'fast-check'
import * as z from 'zod'
import { AccountPaymentInput, type AccountSide, SettleInput } from '#commands/account-commands.ts'
import { reverseAccountPayment } from '#commands/pay-accounts.ts'
import {
  CreatePayableInput,
  CreateReceivableInput,
  createPayable,
  createReceivable,
  deletePayable,
  deleteReceivable,
  PayableChanges,
  payableSide,
  payPayable,
  payReceivable,
  ReceivableChanges,
  ReplacePayableInput,
  ReplaceReceivableInput,
  receivableSide,
  replacePayable,
  replaceReceivable,
  settlePayable,
  settleReceivable,
  updatePayable,
  updateReceivable,
} from '#commands/receivables-payables.ts'
import { RecordId } from '#commands/record-commands.ts'
import { PAYMENT_METHODS } from '#domain/payment-rules.ts'
import { Id } from '#domain/text.ts'
import { type Command, command } from '#ledger/command.ts'
import { type Act, ById, byId, maybe, nullable, place } from './act.ts'
import { changing, externalId, name, rarely } from './values.ts'

const accountShape = {
  description: name,
  amount: fc.constantFrom('0.01', '150.00', '9999999999.99'),
  due_date: fc.constantFrom('1999-12-31', '2026-03-10', '2099-02-28'),
}
const accountChanges = {
  external_id: rarely(externalId),
  description: maybe(name),
  amount: maybe(accountShape.amount),
  due_date: maybe(accountShape.due_date),
}
/** One side of the finances; `party` is the debtor or creditor. */
const sideOf = (party: 'customer' | 'supplier') => {
  const parties = { [`${party}_id`]: nullable(place) }
  return {
    create: fc.record({ external_id: nullable(externalId), ...accountShape, ...parties }),
    replace: fc.record({ external_id: externalId, ...accountShape, [`${party}_external_id`]: rarely(externalId) }),
    update: changing(fc.record({ ...accountChanges, ...parties })),
    pay: fc.record({
      id: place,
      amount: fc.constantFrom('0.01', '50.00'),
      interest: rarely(fc.constant('1.00')),
      discount: rarely(fc.constant('0.01')),
    }),
    settle: fc.record({
      id: place,
      payment_method: fc.constantFrom(...PAYMENT_METHODS),
      paid_at: nullable(fc.constantFrom('2026-03-10T23:30:00-03:00', '2000-01-01T00:00:00Z')),
    }),
  }
}
const receivable = sideOf('customer')
const payable = sideOf('supplier')
const accountUpdate = (changes: z.ZodType) => z.strictObject({ id: Id, changes })

/** Reverses the last payment of an account. */
function reverseLastPayment<P extends object, N>(side: AccountSide<P, N>): Command<{ readonly id: number }> {
  const { permission, needs, needsMore, decide } = reverseAccountPayment(side)
  const reversalOf = (rows: Parameters<typeof decide>[0], { id }: { readonly id: number }) => ({
    id,
    payment_id: rows.get(side.byId(id))?.doc.payments.at(-1)?.id ?? NO_PAYMENT,
    reason: 'lançado em dobro',
  })
  return command({
    ...(permission && { permission }),
    needs: ({ id }) => needs({ id, payment_id: NO_PAYMENT, reason: '' }),
    needsMore: (rows, input) => needsMore?.(rows, reversalOf(rows, input)) ?? [],
    decide: (rows, input, context) => decide(rows, reversalOf(rows, input), context),
  })
}

const NO_PAYMENT = 900_000_001

/** Receivables and payables. */
export const accountActs = {
  createReceivable: {
    kind: 'receivable',
    weight: 2,
    command: createReceivable,
    schema: CreateReceivableInput,
    input: receivable.create,
  },
  replaceReceivable: {
    kind: 'receivable',
    weight: 3,
    command: replaceReceivable,
    schema: ReplaceReceivableInput,
    input: receivable.replace,
  },
  updateReceivable: {
    kind: 'receivable',
    weight: 2,
    command: updateReceivable,
    schema: accountUpdate(ReceivableChanges),
    input: receivable.update,
  },
  deleteReceivable: { kind: 'receivable', weight: 2, command: deleteReceivable, schema: RecordId, input: byId },
  settleReceivable: {
    kind: 'receivable',
    weight: 1,
    command: settleReceivable,
    schema: SettleInput,
    input: receivable.settle,
  },
  payReceivable: {
    kind: 'receivable',
    weight: 2,
    command: payReceivable,
    schema: AccountPaymentInput,
    input: receivable.pay,
  },
  reverseReceivablePayment: {
    kind: 'receivable',
    weight: 2,
    command: reverseLastPayment(receivableSide),
    schema: ById,
    input: byId,
  },
  createPayable: {
    kind: 'payable',
    weight: 2,
    command: createPayable,
    schema: CreatePayableInput,
    input: payable.create,
  },
  replacePayable: {
    kind: 'payable',
    weight: 3,
    command: replacePayable,
    schema: ReplacePayableInput,
    input: payable.replace,
  },
  updatePayable: {
    kind: 'payable',
    weight: 2,
    command: updatePayable,
    schema: accountUpdate(PayableChanges),
    input: payable.update,
  },
  deletePayable: { kind: 'payable', weight: 2, command: deletePayable, schema: RecordId, input: byId },
  payPayable: { kind: 'payable', weight: 2, command: payPayable, schema: AccountPaymentInput, input: payable.pay },
  reversePayablePayment: {
    kind: 'payable',
    weight: 2,
    command: reverseLastPayment(payableSide),
    schema: ById,
    input: byId,
  },
  settlePayable: { kind: 'payable', weight: 1, command: settlePayable, schema: SettleInput, input: payable.settle },
} satisfies Record<string, Act>
