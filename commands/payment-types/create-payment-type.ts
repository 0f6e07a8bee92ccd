import { z } from 'zod'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { paymentTypeShape } from './payment-type-input.ts'

/** DESIGN section 5, Sale payment types. */
const DUE_DAYS = 30

export const CreatePaymentTypeInput = z.strictObject({
  ...paymentTypeShape,
  fee_percentage: paymentTypeShape.fee_percentage.default('0.00'),
  due_days: paymentTypeShape.due_days.default(DUE_DAYS),
})
export type CreatePaymentTypeInput = z.infer<typeof CreatePaymentTypeInput>

/** Defines a way to pay. */
export const createPaymentType = command<CreatePaymentTypeInput>({
  needs: () => [],
  ids: () => ({ payment_type: 1 }),
  decide(_rows, input, { nextId }) {
    const created = event('PaymentTypeCreated', { id: nextId('payment_type'), ...input })
    return accept('created', created.subject, [created])
  },
})
