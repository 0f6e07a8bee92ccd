import { refuse } from '#domain/refusal.ts'
import { type DataOf, event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { webhookById } from '#projections/webhooks.ts'

/** Switches an address on again, with a clean record: what it answered before counts no more. */
export const enableWebhook = command<{ readonly id: number }>({
  needs: ({ id }) => [webhookById(id)],
  decide(rows, { id }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    if (webhook.enabled) return accept('unchanged', `webhook/${id}`)
    return accept('updated', `webhook/${id}`, [event('WebhookEnabled', { id })])
  },
})

export type SwitchOffWebhookInput = DataOf<'WebhookSwitchedOff'>

/** Nothing more is delivered to the address until it is switched on; what waits is cancelled. */
export const switchOffWebhook = command<SwitchOffWebhookInput>({
  needs: ({ id }) => [webhookById(id)],
  decide(rows, { id, reason }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    if (!webhook.enabled) return accept('unchanged', `webhook/${id}`)
    return accept('updated', `webhook/${id}`, [event('WebhookSwitchedOff', { id, reason })])
  },
})
