import type { Pool } from 'pg'
import type { Refusal } from '#domain/refusal.ts'
import { type WebhookHealth, type WebhookObject, type WebhookRow, webhookState } from '#projections/webhooks.ts'
import { type Listing, type ListPaging, list, type Page } from '../list.ts'

type Stored = Pick<WebhookRow, 'enabled' | 'watched_since'> & {
  doc: WebhookObject
  health: Omit<WebhookHealth, 'company_id' | 'webhook_id'>
}

const utc = (printed: string | null): string | null => (printed === null ? null : new Date(printed).toISOString())

/** Addresses with how they answer, which dispatchers note outside of the read model. */
export const webhookListing: Listing<object> = {
  resource: 'webhooks',
  from: 'webhooks t left join webhook_health h on h.company_id = t.company_id and h.webhook_id = t.id',
  record: `json_build_object('doc', t.doc, 'enabled', t.enabled, 'watched_since', t.watched_since, 'health',
             json_build_object('last_success_at', h.last_success_at, 'failing_since', h.failing_since,
                               'no_response_since', h.no_response_since))::text`,
  where: 't.deleted_at is null',
  filters: {},
  present(record, timezone) {
    const { doc, enabled, watched_since, health } = record as Stored
    const state = webhookState(
      { enabled, watched_since: utc(watched_since) ?? '' },
      {
        last_success_at: utc(health.last_success_at),
        failing_since: utc(health.failing_since),
        no_response_since: utc(health.no_response_since),
      },
      timezone,
    )
    return { ...doc, ...state }
  },
}

export function listWebhooks(pool: Pool, companyId: number, query: ListPaging): Promise<Page | Refusal> {
  return list(pool, webhookListing, companyId, query)
}
