import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { paymentTypeById } from '#projections/payment-types.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import { paymentTypeShape } from './payment-type-input.ts'

/** Absent is left alone. */
export const UpdatePaymentTypeInput = z.strictObject({ id: Id, ...z.strictObject(paymentTypeShape).partial().shape })
export type UpdatePaymentTypeInput = z.infer<typeof UpdatePaymentTypeInput>

/** Changes a way to pay, for payments from now on: those of past sales keep their fee. */
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
