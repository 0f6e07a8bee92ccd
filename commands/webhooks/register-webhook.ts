import type { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { ownCompany } from '#projections/companies.ts'
import { type WebhookSecret, webhookSecrets } from '#projections/webhooks.ts'
import type { WebhookFields } from './webhook-input.ts'

/** Addresses that a company may have at a time; every event costs a delivery to each. */
export const MAX_WEBHOOKS = 50

/** `secret` is shown once by the caller, and kept beside the ledger. */
export type RegisterWebhookInput = z.infer<typeof WebhookFields> & { readonly secret: string }

/** Registers an address for outbound events. */
export const registerWebhook = command<RegisterWebhookInput>({
  needs: () => [ownCompany],
  ids: () => ({ webhook: 1 }),
  decide(rows, { url, events, description, secret }, { companyId, nextId }) {
    if ((rows.get(ownCompany)?.webhooks.length ?? 0) >= MAX_WEBHOOKS) return refuse('webhook_limit_reached')
    const id = nextId('webhook')
    const registered = event('WebhookRegistered', { id, url, events, description: description ?? null })
    const row: WebhookSecret = { company_id: companyId, webhook_id: id, secret, next_secret: null, switch_at: null }
    return accept('created', registered.subject, [registered], [{ table: webhookSecrets, row }])
  },
})
