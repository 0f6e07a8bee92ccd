import { refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { type WebhookSecret, webhookById, webhookSecrets } from '#projections/webhooks.ts'

/** Takes an address out of service for good. Nothing will be signed for it again, so its secret is forgotten. */
export const deleteWebhook = command<{ readonly id: number }>({
  needs: ({ id }) => [webhookById(id)],
  decide(rows, { id }, { companyId }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    const blank: WebhookSecret = {
      company_id: companyId,
      webhook_id: id,
      secret: '',
      next_secret: null,
      switch_at: null,
    }
    return accept(
      'deleted',
      `webhook/${id}`,
      [event('WebhookDeleted', { id })],
      [{ table: webhookSecrets, row: blank }],
    )
  },
})
