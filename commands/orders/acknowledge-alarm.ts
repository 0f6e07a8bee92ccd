import * as z from 'zod'
import { refuse } from '#domain/refusal.ts'
import { boundedText, Id } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { isUnseen, orderById } from '#projections/orders.ts'

/** POST /orders/{id}/alarms/{provider_payment_id}/acknowledge. Acknowledges all alarms of the payment. */
export const AcknowledgeAlarmInput = z.strictObject({ id: Id, provider_payment_id: boundedText(100) })
export type AcknowledgeAlarmInput = z.infer<typeof AcknowledgeAlarmInput>

/** Acknowledges the alarms of a payment (ORDER-41); the event's actor and time tell who and when. A second request changes nothing. */
export const acknowledgeAlarm = command<AcknowledgeAlarmInput>({
  permission: 'refund_orders',
  needs: ({ id }) => [orderById(id)],
  decide(rows, { id, provider_payment_id }) {
    const alarms = rows.get(orderById(id))?.doc.alarms ?? []
    const ofPayment = alarms.filter((each) => each.provider_payment_id === provider_payment_id)
    if (ofPayment.length === 0) return refuse('not_found')
    if (!ofPayment.some(isUnseen)) return accept('unchanged', `order/${id}`)
    return accept('updated', `order/${id}`, [event('OrderAlarmAcknowledged', { id, provider_payment_id })])
  },
})
