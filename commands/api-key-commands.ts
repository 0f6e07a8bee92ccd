import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { Money } from '#domain/money.ts'
import { refuse, refuseField } from '#domain/refusals.ts'
import { inOrder, SCOPES } from '#domain/rights.ts'
import { boundedText } from '#domain/text.ts'
import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import { type ApiKeySecret, apiKeyById, apiKeySecrets } from '#projections/api-keys.ts'
import { ownCompany } from '#projections/companies.ts'
import type { RecordId } from './record-commands.ts'

/** Limit of active keys (neither revoked nor expired) per company (KEY-4). */
export const MAX_ACTIVE_KEYS = 20

/** Prefix and hash of the key; only the caller knows the key itself. */
export const CreateApiKeyInput = z.strictObject({
  name: boundedText(80),
  scopes: z.array(z.enum(SCOPES)).min(1).max(SCOPES.length),
  expires_at: Instant.nullish(),
  /** Sum of sales, accounts and refunds that a call, and a day of the company, may record (AGENT-1203). */
  max_amount_per_call: Money.nullish(),
  max_amount_per_day: Money.nullish(),
  prefix: z.string(),
  hash: z.instanceof(Buffer),
})
export type CreateApiKeyInput = z.infer<typeof CreateApiKeyInput>

export const createApiKey = command<CreateApiKeyInput>({
  permission: 'manage_integrations',
  needs: () => [ownCompany],
  decide(rows, { hash, ...input }, { companyId, recordedAt: now, nextId }) {
    const { name, scopes, prefix, expires_at = null, max_amount_per_call, max_amount_per_day } = input
    if (expires_at !== null && expires_at <= now) return refuseField('expires_at', 'deve estar no futuro')
    const keys = rows.get(ownCompany)?.active_keys ?? []
    const active = keys.filter((key) => key.expires_at === null || key.expires_at > now)
    if (active.length >= MAX_ACTIVE_KEYS) return refuse('key_limit_reached')
    const id = nextId('api_key')
    const limits = {
      ...(max_amount_per_call && { max_amount_per_call }),
      ...(max_amount_per_day && { max_amount_per_day }),
    }
    const created = event('ApiKeyCreated', { id, name, prefix, scopes: inOrder(scopes), expires_at, ...limits })
    const secret: ApiKeySecret = { company_id: companyId, api_key_id: id, hash }
    return accept('created', created.subject, [created], [{ table: apiKeySecrets, row: secret }])
  },
})

/** Revokes a key for good: its next request fails on every process. An expired key can be revoked too. */
export const revokeApiKey = command<RecordId>({
  permission: 'manage_integrations',
  needs: ({ id }) => [apiKeyById(id)],
  decide(rows, { id }) {
    const key = rows.get(apiKeyById(id))
    if (!key) return refuse('not_found')
    if (key.revoked_at) return accept('unchanged', `api_key/${id}`)
    return accept('updated', `api_key/${id}`, [event('ApiKeyRevoked', { id })])
  },
})
