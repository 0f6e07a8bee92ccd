import { z } from 'zod'
import { normalizePercentage, Percentage } from '#domain/percentage.ts'
import { refuse } from '#domain/refusal.ts'
import { Id, text } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { PAYMENT_KINDS } from '#events/companies.ts'
import { accept, command } from '#ledger/command.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import { changesBetween, isEmpty } from './records.ts'

/** Ten years. */
const MAX_DUE_DAYS = 3650

/** Each subscriber defines its own payment types, also of the kinds that only the point of sale may use. */
const paymentTypeShape = {
  name: text(60),
  kind: z.enum(PAYMENT_KINDS),
  /** Kept with exactly two decimals. */
  fee_percentage: Percentage.transform(normalizePercentage),
  /** Days until the receivable of a payment on credit is due. */
  due_days: z.int().min(0).max(MAX_DUE_DAYS),
}

export const CreatePaymentTypeInput = z.strictObject({
  ...paymentTypeShape,
  fee_percentage: paymentTypeShape.fee_percentage.default('0.00'),
  due_days: paymentTypeShape.due_days.default(30),
})
export type CreatePaymentTypeInput = z.infer<typeof CreatePaymentTypeInput>

export const createPaymentType = command<CreatePaymentTypeInput>({
  needs: () => [],
  ids: () => ({ payment_type: 1 }),
  decide(_rows, input, { nextId }) {
    const created = event('PaymentTypeCreated', { id: nextId('payment_type'), ...input })
    return accept('created', created.subject, [created])
  },
})

/** Absent is left alone. */
export const UpdatePaymentTypeInput = z.strictObject({ id: Id, ...z.strictObject(paymentTypeShape).partial().shape })
export type UpdatePaymentTypeInput = z.infer<typeof UpdatePaymentTypeInput>

/** Counts for payments from now on: those of past sales keep their fee. */
export const updatePaymentType = command<UpdatePaymentTypeInput>({
  needs: ({ id }) => [paymentTypeById(id)],
  decide(rows, { id, ...fields }) {
    const known = rows.get(paymentTypeById(id))
    if (!known) return refuse('not_found')
    const changes = changesBetween(known.doc, fields)
    if (isEmpty(changes)) return accept('unchanged', `payment_type/${id}`)
    return accept('updated', `payment_type/${id}`, [event('PaymentTypeUpdated', { id, changes })])
  },
})
