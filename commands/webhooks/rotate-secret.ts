import type { z } from 'zod'
import { refuse } from '#domain/refusal.ts'
import { secretsAt } from '#domain/webhook-secret.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { type WebhookSecret, webhookById, webhookSecretById, webhookSecrets } from '#projections/webhooks.ts'
import type { RotationFields } from './webhook-input.ts'

const HOUR_MS = 3_600_000

export type RotateSecretInput = z.infer<typeof RotationFields> & { readonly id: number; readonly secret: string }

/** Gives an address a new secret. During the overlap both sign, so that a receiver can change over without losing a delivery. */
export const rotateSecret = command<RotateSecretInput>({
  needs: ({ id }) => [webhookById(id), webhookSecretById(id)],
  decide(rows, { id, overlap_hours, secret }, { companyId, now }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    const known = rows.get(webhookSecretById(id))
    // None where a crash has left the address without one.
    const before = known && secretsAt(known, Date.parse(now)).secret
    const overlap_ends_at =
      before === null || overlap_hours === 0 ? null : new Date(Date.parse(now) + overlap_hours * HOUR_MS).toISOString()
    const keys = { company_id: companyId, webhook_id: id }
    const row: WebhookSecret =
      before === null || overlap_ends_at === null
        ? { ...keys, secret, next_secret: null, switch_at: null }
        : { ...keys, secret: before, next_secret: secret, switch_at: overlap_ends_at }
    const rotated = event('WebhookSecretRotated', { id, overlap_ends_at })
    return accept('updated', rotated.subject, [rotated], [{ table: webhookSecrets, row }])
  },
})
