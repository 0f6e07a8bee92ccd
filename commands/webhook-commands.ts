import * as z from 'zod'
import { secretsAt } from '#crypto/vault.ts'
import { Instant, inZone } from '#domain/instant.ts'
import { Money } from '#domain/money.ts'
import { type Refusal, refuse, refuseField } from '#domain/refusals.ts'
import { inOrder, SCOPES } from '#domain/rights.ts'
import { boundedText, Id, optionalText, orDefault } from '#domain/text.ts'
import {
  type DataOf,
  event,
  getReadScope,
  isBasicEvent,
  isDeliverable,
  isSubscribed,
  WEBHOOK_EVENT_GROUPS,
  WEBHOOK_EVENTS,
  type WebhookEvent,
} from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import type { Rows } from '#ledger/working-set.ts'
import { companyRef, getTimezone, ownCompany, parseKeyActor, scopesOfKey } from '#projections/companies.ts'
import {
  type ApiKeySecret,
  apiKeyById,
  apiKeySecrets,
  hasNoResponse,
  type WebhookSecrets,
  webhookById,
  webhookHealthById,
  webhookSecrets,
  webhookSecretsById,
} from '#projections/webhooks.ts'
import { isEmpty, pickChanges, type RecordId } from './record-commands.ts'

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

const NAMES: readonly string[] = [...WEBHOOK_EVENT_GROUPS, ...WEBHOOK_EVENTS]

/** Names that the first of these groups in a list includes already. */
function includedNames(names: readonly string[]): string[] {
  const group = WEBHOOK_EVENT_GROUPS.find((each) => names.includes(each))
  return group === undefined ? [] : names.filter((name) => isBasicEvent(name) || (group === '*' && name === 'basic'))
}

/**
 * Names of outbound events, unique, in the order of the catalogue. `*` stands for all events and `basic` for the basic
 * ones. Other names may stand beside either: beside `*` they have no effect.
 */
const EventNames = z
  .array(z.enum([...WEBHOOK_EVENTS, ...WEBHOOK_EVENT_GROUPS]))
  .min(1, 'informe ao menos um evento, ou ["*"]')
  .max(50, 'no máximo 50 nomes de eventos')
  .refine((names) => includedNames(names).length === 0, {
    error: ({ input }) =>
      `"${(input as string[]).includes('*') ? '*' : 'basic'}" já inclui ${includedNames(input as string[]).join(', ')}`,
  })
  .transform((names): string[] => NAMES.filter((name) => names.includes(name as never)))

/** Fields of an endpoint. src/webhooks/sender.ts checks its URL against the settings. */
export const WebhookFields = z.strictObject({
  url: z.string(),
  events: EventNames,
  description: optionalText(200),
})

/** PATCH: absent fields stay unchanged. */
export const WebhookChanges = WebhookFields.partial()

const OVERLAP_HOURS = 'deve ser um número inteiro de 0 a 168'

/** Hours during which the previous secret still signs after a rotation (HOOK-28). */
export const RotationFields = z.strictObject({
  overlap_hours: orDefault(z.int({ error: OVERLAP_HOURS }).min(0, OVERLAP_HOURS).max(168, OVERLAP_HOURS), 24),
})

/** Endpoints per company; every event costs a delivery to each. */
export const MAX_WEBHOOKS = 50

/** The caller shows `secret` once; it is stored outside the ledger. */
type RegisterWebhookInput = z.infer<typeof WebhookFields> & { readonly secret: string }

/** Scopes of the acting key; null for people and the service, who may read everything. */
function scopesOfActor(rows: Rows, actor: string | null): readonly string[] | null {
  const keyId = parseKeyActor(actor)
  return keyId === null ? null : scopesOfKey(companyRef(rows), keyId)
}

/** Refusal if the key may not read one of these events; a group only stands for the readable ones. */
function findMissingScope(scopes: readonly string[] | null, names: readonly string[]): Refusal | null {
  const unreadable = selectEvents(names).find((event) => !isDeliverable(scopes, event))
  return unreadable ? refuse('insufficient_scope', { missing_scope: getReadScope(unreadable) }) : null
}

const selectEvents = (names: readonly string[]): WebhookEvent[] =>
  WEBHOOK_EVENTS.filter((event) => names.includes(event))

/** Delivered events: those that the endpoint requests and its owner may read. */
const deliveredEvents = (names: readonly string[], scopes: readonly string[] | null): WebhookEvent[] =>
  WEBHOOK_EVENTS.filter((event) => isSubscribed(names, event) && isDeliverable(scopes, event))

const routeOf = (rows: Rows, webhookId: number) => companyRef(rows).webhooks.find(({ id }) => id === webhookId)

/**
 * Registers an endpoint for outbound events. It belongs to the acting key, or to the company if a person acts.
 */
export const registerWebhook = command<RegisterWebhookInput>({
  permission: 'manage_integrations',
  needs: () => [ownCompany],
  decide(rows, { url, events, description, secret }, { companyId, nextId, actor }) {
    const refusal = findMissingScope(scopesOfActor(rows, actor), events)
    if (refusal) return refusal
    if ((rows.get(ownCompany)?.webhooks.length ?? 0) >= MAX_WEBHOOKS) return refuse('webhook_limit_reached')
    const id = nextId('webhook')
    const registered = event('WebhookRegistered', { id, url, events, description: description ?? null })
    const secrets = { secret, next_secret: null }
    const row: WebhookSecrets = { company_id: companyId, webhook_id: id, secrets, switch_at: null }
    return accept('created', registered.subject, [registered], [{ table: webhookSecrets, row }])
  },
})

type UpdateWebhookInput = RecordId & z.infer<typeof WebhookChanges>

/**
 * Changes events, URL or description. Pending deliveries go to the new URL too, so a key that changes URL or events
 * must be able to read all events of the endpoint, before and after.
 */
export const updateWebhook = command<UpdateWebhookInput>({
  permission: 'manage_integrations',
  needs: ({ id }) => [webhookById(id), ownCompany],
  decide(rows, { id, ...fields }, { actor }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    const { url, events, description } = webhook.doc
    const changes = pickChanges({ url, events, description }, fields)
    if (isEmpty(changes)) return accept('unchanged', `webhook/${id}`)
    if (changes.url !== undefined || changes.events !== undefined) {
      const owners = routeOf(rows, id)?.scopes ?? null
      const delivered = deliveredEvents([...events, ...(changes.events ?? [])], owners)
      const refusal = findMissingScope(scopesOfActor(rows, actor), [...delivered, ...(changes.events ?? [])])
      if (refusal) return refusal
      const beyond = selectEvents(changes.events ?? []).find((event) => !isDeliverable(owners, event))
      if (beyond)
        return refuseField('events', `"${beyond}" exige que a chave do endereço tenha ${getReadScope(beyond)}`)
    }
    return accept('updated', `webhook/${id}`, [event('WebhookUpdated', { id, changes })])
  },
})

/** Absent: the acting key. Null: the company itself. */
export const HandOverFields = z.strictObject({ api_key_id: Id.nullish() })

/**
 * Assigns an endpoint to a key, or to the company itself. From then on it receives the events that the new owner may
 * read, including those that waited while it was paused. A key takes over only
 * an endpoint whose events it may all read: otherwise a group would silently lose events, and a narrower key could
 * change URL and secret.
 */
export const handOverWebhook = command<RecordId & z.infer<typeof HandOverFields>>({
  permission: 'manage_integrations',
  needs: ({ id }) => [webhookById(id), ownCompany],
  decide(rows, { id, api_key_id: wanted }, { actor, recordedAt: now }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    const api_key_id = wanted === undefined ? parseKeyActor(actor) : wanted
    const key = companyRef(rows).active_keys.find((one) => one.id === api_key_id)
    if (api_key_id !== null && (!key || (key.expires_at !== null && key.expires_at <= now)))
      return refuseField('api_key_id', 'não é uma chave ativa')
    const { events } = webhook.doc
    const delivered = wanted === undefined ? deliveredEvents(events, routeOf(rows, id)?.scopes ?? null) : []
    const refusal = findMissingScope(key?.scopes ?? null, [...delivered, ...events])
    if (refusal && wanted === undefined) return refusal
    if (refusal) return refuseField('api_key_id', `a chave não tem o escopo ${refusal.details?.missing_scope}`)
    if (webhook.api_key_id === api_key_id) return accept('unchanged', `webhook/${id}`)
    return accept('updated', `webhook/${id}`, [event('WebhookHandedOver', { id, api_key_id })])
  },
})

/** Enables an endpoint and resets its failure record, also that of an enabled one without a response. */
export const enableWebhook = command<RecordId>({
  permission: 'manage_integrations',
  needs: ({ id }) => [webhookById(id), webhookHealthById(id)],
  decide(rows, { id }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    if (webhook.enabled && !hasNoResponse(webhook, rows.get(webhookHealthById(id))))
      return accept('unchanged', `webhook/${id}`)
    return accept('updated', `webhook/${id}`, [event('WebhookEnabled', { id })])
  },
})

/** Disables an endpoint: deliveries stop and pending ones are cancelled. */
export const switchOffWebhook = command<DataOf<'WebhookSwitchedOff'>>({
  permission: 'manage_integrations',
  needs: ({ id }) => [webhookById(id)],
  decide(rows, { id, reason }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    if (!webhook.enabled) return accept('unchanged', `webhook/${id}`)
    return accept('updated', `webhook/${id}`, [event('WebhookSwitchedOff', { id, reason })])
  },
})

const HOUR_MS = 3_600_000

type RotateSecretInput = RecordId & z.infer<typeof RotationFields> & { readonly secret: string }

/**
 * Rotates an endpoint's secret. During the overlap both secrets sign, so that a receiver can switch without losing a
 * delivery; another rotation waits for its end, since it would end the secret of the first. Without an overlap
 * it ends all other secrets at once.
 */
export const rotateSecret = command<RotateSecretInput>({
  permission: 'manage_integrations',
  needs: ({ id }) => [webhookById(id), webhookSecretsById(id), ownCompany],
  decide(rows, { id, overlap_hours, secret }, { companyId, recordedAt: now, actor }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    const delivered = deliveredEvents(webhook.doc.events, routeOf(rows, id)?.scopes ?? null)
    const refusal = findMissingScope(scopesOfActor(rows, actor), delivered)
    if (refusal) return refusal
    const known = rows.get(webhookSecretsById(id))
    // Null if a crash left the endpoint without a secret.
    const before = known?.secrets
      ? secretsAt({ ...known.secrets, switch_at: known.switch_at }, Date.parse(now)).secret
      : null
    if (overlap_hours > 0 && known?.secrets?.next_secret && known.switch_at !== null && known.switch_at > now)
      return refuse('rotation_running', { until: inZone(known.switch_at, getTimezone(rows)) })
    const overlap_ends_at =
      before === null || overlap_hours === 0 ? null : new Date(Date.parse(now) + overlap_hours * HOUR_MS).toISOString()
    const keys = { company_id: companyId, webhook_id: id }
    const row: WebhookSecrets =
      before === null || overlap_ends_at === null
        ? { ...keys, secrets: { secret, next_secret: null }, switch_at: null }
        : { ...keys, secrets: { secret: before, next_secret: secret }, switch_at: overlap_ends_at }
    const rotated = event('WebhookSecretRotated', { id, overlap_ends_at })
    return accept('updated', rotated.subject, [rotated], [{ table: webhookSecrets, row }])
  },
})

/** Deletes an endpoint for good. Nothing is signed for it again, so its secret is erased. */
export const deleteWebhook = command<RecordId>({
  permission: 'manage_integrations',
  needs: ({ id }) => [webhookById(id)],
  decide(rows, { id }, { companyId }) {
    const webhook = rows.get(webhookById(id))
    if (!webhook || webhook.deleted_at) return refuse('not_found')
    const row: WebhookSecrets = { company_id: companyId, webhook_id: id, secrets: null, switch_at: null }
    return accept('deleted', `webhook/${id}`, [event('WebhookDeleted', { id })], [{ table: webhookSecrets, row }])
  },
})
