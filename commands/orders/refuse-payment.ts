import { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { Id, text } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { orderById } from '#projections/orders.ts'

export const RefusePaymentInput = z.strictObject({ id: Id, attempt_id: z.uuid(), reason: text(500) })
export type RefusePaymentInput = z.infer<typeof RefusePaymentInput>

/** Notes that the provider made no payment of an attempt. What the provider has told of it meanwhile goes before. */
export const refusePayment = command<RefusePaymentInput>({
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, attempt_id, reason }) {
    const attempt = rows.get(orderById(id))?.doc.payments.find((payment) => payment.attempt_id === attempt_id)
    if (!attempt) return refuse('not_found')
    if (attempt.provider_payment_id !== null || attempt.refusal !== null) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('PaymentRefused', { id, attempt_id, reason })])
  },
})
