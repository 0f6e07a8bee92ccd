import type { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { webhookById } from '#projections/webhooks.ts'
import { changesBetween, isEmpty } from '../records/changes.ts'
import type { WebhookChanges } from './webhook-input.ts'

export type UpdateWebhookInput = z.infer<typeof WebhookChanges> & { readonly id: number }

/** Changes what is delivered, and where. What is on its way already goes to the new URL too. */
export const updateWebhook = command<UpdateWebhookInput>({
  needs: ({ id }) => [webhookById(id)],
  decide(rows, { id, ...fields }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    const { url, events, description } = webhook.doc
    const changes = changesBetween({ url, events, description }, fields)
    if (isEmpty(changes)) return accept('unchanged', `webhook/${id}`)
    return accept('updated', `webhook/${id}`, [event('WebhookUpdated', { id, changes })])
  },
})
