import { dateInZone, inZone } from '#domain/instant.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { refuse } from '#domain/refusals.ts'
import type { DataOf, EventName } from '#events/catalogue.ts'
import type { Envelope, NewEvent } from '#ledger/command.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import type { Guard } from '#ledger/write/unit-of-work.ts'
import { companyRef, companysTime, getTimezone, ownCompany, parseKeyActor } from './companies.ts'
import { type ChangedFields, changedColumns, existing, projection, stamp } from './define-projection.ts'

/** API key without its secret, as `/me`, the command line and the panel show it. */
export type ApiKeyObject = DataOf<'ApiKeyCreated'> & { created_at: string; revoked_at: string | null }

interface ApiKeyRow extends ChangedFields {
  company_id: number
  id: number
  expires_at: string | null
  revoked_at: string | null
  /** The last day on which the key recorded amounts, and their sum; only of keys with a limit per day. */
  amounts_on: string | null
  amounts_cents: number
  doc: ApiKeyObject
}

const apiKeys = table<ApiKeyRow>('api_keys', {
  about: 'API keys: name, scopes and end. Their hashes are in ops.api_key_secrets.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    expires_at: 'timestamptz',
    revoked_at: 'timestamptz',
    amounts_on: 'date',
    amounts_cents: 'bigint',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'] },
  past: { id: 'id', without: ['amounts_on', 'amounts_cents'] },
})

export const apiKeyById = (id: number) => byPk(apiKeys, id)

/** SHA-256 of a key; schema `ops`, never in an event. */
export interface ApiKeySecret {
  company_id: number
  api_key_id: number
  hash: Buffer
}

export const apiKeySecrets = table<ApiKeySecret>('api_key_secrets', {
  columns: { company_id: 'bigint', api_key_id: 'bigint', hash: 'bytea' },
  keys: { pk: ['company_id', 'api_key_id'] },
})

type Data = Readonly<Record<string, unknown>>

/**
 * Amount of each event that counts: sales, accounts, and money given back. What follows from a sale counts with it, and
 * of an order what a payment charges.
 */
const AMOUNTS: { readonly [N in EventName]?: (data: DataOf<N>) => string | undefined } = {
  SaleCompleted: ({ order_id, total }) => (order_id === undefined ? total : undefined),
  SaleReturned: ({ total }) => total,
  PaymentStarted: ({ amount }) => amount,
  OrderRefundRequested: ({ amount }) => amount,
  ReceivableCreated: ({ origin, amount }) => (origin === 'sale' ? undefined : amount),
  ReceivableUpdated: ({ changes }) => changes.amount,
  ReceivableRevived: ({ amount }) => amount,
  PayableCreated: ({ origin, amount }) => (origin === 'sale' ? undefined : amount),
  PayableUpdated: ({ changes }) => changes.amount,
  PayableRevived: ({ amount }) => amount,
}

function amountOf({ type, data }: Pick<NewEvent, 'type' | 'data'>): number {
  const amount = (AMOUNTS as Readonly<Record<string, (data: Data) => string | undefined>>)[type]?.(data as Data)
  return amount === undefined ? 0 : toCents(amount)
}

const sumOf = (events: readonly NewEvent[]): number => events.reduce((sum, event) => sum + amountOf(event), 0)

/** Refusal of events that go beyond a limit of the key. */
function beyondLimits(
  rows: Rows,
  keyId: number,
  {
    events,
    before,
    now,
  }: { readonly events: readonly NewEvent[]; readonly before: readonly NewEvent[]; readonly now: string },
) {
  const key = rows.get(apiKeyById(keyId))
  const { max_amount_per_call, max_amount_per_day } = key?.doc ?? {}
  const added = key && (max_amount_per_call || max_amount_per_day) ? sumOf(events) : 0
  if (!key || added === 0) return null
  const ofCall = sumOf(before) + added
  if (max_amount_per_call && ofCall > toCents(max_amount_per_call))
    return refuse('amount_limit', { max_amount_per_call, amount: fromCents(ofCall) })
  const ofDay = countedOn(key, dateInZone(now, getTimezone(rows))) + added
  if (max_amount_per_day && ofDay > toCents(max_amount_per_day))
    return refuse('amount_limit', { max_amount_per_day, amount: fromCents(ofDay) })
  return null
}

const countedOn = ({ amounts_on, amounts_cents }: Readonly<ApiKeyRow>, day: string): number =>
  amounts_on === day ? amounts_cents : 0

function keyOfActor({ actor }: Envelope) {
  const id = parseKeyActor(actor)
  return id === null ? [] : [apiKeyById(id)]
}

function countAmount(rows: Changes, event: Envelope): void {
  const [ref] = keyOfActor(event)
  const key = ref && rows.get(ref)
  const cents = amountOf(event)
  if (!key?.doc.max_amount_per_day || cents === 0) return
  const amounts_on = dateInZone(companysTime(rows, event.recorded_at), getTimezone(rows))
  rows.put(apiKeys, { ...key, amounts_on, amounts_cents: countedOn(key, amounts_on) + cents })
}

export const apiKeysProjection = projection('api_keys', [apiKeys], {
  ApiKeyCreated: {
    apply(rows, event) {
      const { company_id } = companyRef(rows)
      const { id, name, prefix, scopes, expires_at, ...limits } = event.data
      const created_at = event.recorded_at
      const doc: ApiKeyObject = { id, name, prefix, scopes, created_at, expires_at, revoked_at: null, ...limits }
      const none = { revoked_at: null, amounts_on: null, amounts_cents: 0 }
      rows.add(apiKeys, { company_id, id, expires_at, ...none, ...stamp(event), doc })
    },
  },
  ApiKeyRevoked: {
    refs: (event) => [apiKeyById(event.data.id)],
    apply(rows, event) {
      const before = existing(rows, apiKeyById(event.data.id))
      const revoked_at = event.recorded_at
      rows.put(apiKeys, { ...before, revoked_at, ...stamp(event), doc: { ...before.doc, revoked_at } })
    },
  },
  ...Object.fromEntries(Object.keys(AMOUNTS).map((type) => [type, { refs: keyOfActor, apply: countAmount }] as const)),
})

/** Guard: the key is still valid, and within its limits (KEY-21, AGENT-1203). */
export const liveKey = (id: number): Guard => ({
  needs: [apiKeyById(id)],
  holds(rows, now) {
    const key = rows.get(apiKeyById(id))
    if (!key || key.revoked_at !== null) return false
    return key.expires_at === null || Date.parse(key.expires_at) > Date.parse(now)
  },
  refuseEvents: (rows, events, before, now) => beyondLimits(rows, id, { events, before, now }),
})

/** Webhook endpoint as recorded; its health is added when it is shown. */
export type WebhookObject = DataOf<'WebhookRegistered'> & {
  created_at: string
  updated_at: string
  /** Of the last rotation: UTC, perhaps past. Null if it had no overlap. */
  overlap_ends_at: string | null
}

export interface WebhookRow extends ChangedFields {
  company_id: number
  id: number
  url: string
  enabled: boolean
  /** Start of its health record: registration, re-enabling, or a new URL or owner. */
  watched_since: string
  /** Owning key; null if the company owns it. */
  api_key_id: number | null
  deleted_at: string | null
  doc: WebhookObject
}

const webhooks = table<WebhookRow>('webhooks', {
  about: 'Webhook endpoints: URL, events and owner.',
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    url: 'text',
    enabled: 'boolean',
    watched_since: 'timestamptz',
    api_key_id: 'bigint',
    deleted_at: 'timestamptz',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'] },
  past: { id: 'id' },
})

export const webhookById = (id: number) => byPk(webhooks, id)

/**
 * Secrets of an endpoint; schema `ops`, never in an event. During the overlap of a rotation both `secret` and
 * `next_secret` sign.
 */
export interface WebhookSecrets {
  company_id: number
  webhook_id: number
  /** Null once the endpoint is deleted. */
  secrets: { secret: string; next_secret: string | null } | null
  switch_at: string | null
}

export const webhookSecrets = table<WebhookSecrets>('webhook_secrets', {
  columns: {
    company_id: 'bigint',
    webhook_id: 'bigint',
    secrets: 'sealed',
    switch_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'webhook_id'] },
})

export const webhookSecretsById = (id: number) => byPk(webhookSecrets, id)

/** Health of an endpoint; schema `ops`, written by dispatchers. */
export interface WebhookHealth {
  company_id: number
  webhook_id: number
  last_success_at: string | null
  failing_since: string | null
  no_response_since: string | null
}

const webhookHealth = table<WebhookHealth>('webhook_health', {
  columns: {
    company_id: 'bigint',
    webhook_id: 'bigint',
    last_success_at: 'timestamptz',
    failing_since: 'timestamptz',
    no_response_since: 'timestamptz',
  },
  keys: { pk: ['company_id', 'webhook_id'] },
})

export const webhookHealthById = (id: number) => byPk(webhookHealth, id)

type Id = { readonly id: number }

/** Fields of endpoint events that these handlers read. */
interface WebhookChange<D extends Id> {
  readonly revision: number
  readonly recorded_at: string
  readonly data: D
}

const changing = <D extends Id>(change: (row: WebhookRow, event: WebhookChange<D>) => Partial<WebhookRow>) => ({
  refs: (event: WebhookChange<D>) => [webhookById(event.data.id)],
  apply(rows: Changes, event: WebhookChange<D>) {
    const before = existing(rows, webhookById(event.data.id))
    const after = { ...before, ...change(before, event) }
    const doc = { ...after.doc, updated_at: inZone(event.recorded_at, getTimezone(rows)) }
    rows.put(webhooks, { ...after, ...stamp(event), doc })
  },
})

export const webhooksProjection = projection('webhooks', [webhooks], {
  WebhookRegistered: {
    apply(rows, event) {
      const { id, url, events, description } = event.data
      const at = inZone(event.recorded_at, getTimezone(rows))
      rows.add(webhooks, {
        company_id: companyRef(rows).company_id,
        id,
        url,
        enabled: true,
        watched_since: event.recorded_at,
        api_key_id: parseKeyActor(event.actor),
        deleted_at: null,
        ...stamp(event),
        doc: { id, url, events, description, created_at: at, updated_at: at, overlap_ends_at: null },
      })
    },
  },
  WebhookUpdated: changing<DataOf<'WebhookUpdated'>>((row, { data: { changes }, recorded_at }) => ({
    url: changes.url ?? row.url,
    // Responses of the old URL do not count for the new one.
    watched_since: changes.url === undefined ? row.watched_since : recorded_at,
    doc: { ...row.doc, ...changes },
  })),
  WebhookHandedOver: changing<DataOf<'WebhookHandedOver'>>((_row, { data: { api_key_id }, recorded_at }) => ({
    api_key_id,
    watched_since: recorded_at,
  })),
  WebhookEnabled: changing((_row, { recorded_at }) => ({ enabled: true, watched_since: recorded_at })),
  WebhookSwitchedOff: changing(() => ({ enabled: false })),
  WebhookSecretRotated: changing<DataOf<'WebhookSecretRotated'>>((row, { data: { overlap_ends_at } }) => ({
    doc: { ...row.doc, overlap_ends_at },
  })),
  WebhookDeleted: changing((_row, { recorded_at }) => ({ enabled: false, deleted_at: recorded_at })),
})

/** Conditions of a pause besides the endpoint: the company's plan and the owning key. */
interface PauseConditions {
  readonly plan: string
  readonly key: { readonly revoked_at: string | null; readonly expires_at: string | null } | null
  /** UTC. */
  readonly now: string
}

/** Reason why deliveries are paused (HOOK-53); null if they are not. */
function pauseReason(api_key_id: number | null, { plan, key, now }: PauseConditions) {
  if (plan !== 'api') return 'plan_required'
  if (api_key_id === null) return null
  if (!key || key.revoked_at !== null) return 'key_revoked'
  return key.expires_at !== null && key.expires_at <= now ? 'key_expired' : null
}

/** Whether a time of the failure record is of the current URL, owner and period of being enabled. */
const counts = ({ watched_since }: Pick<WebhookRow, 'watched_since'>, at: string | null | undefined): at is string =>
  typeof at === 'string' && at >= watched_since

/** Whether all attempts of a delivery have failed, and none has succeeded since. */
export const hasNoResponse = (
  webhook: Pick<WebhookRow, 'watched_since'>,
  health: Pick<WebhookHealth, 'no_response_since'> | null,
): boolean => counts(webhook, health?.no_response_since)

/** Displayed state of an endpoint, with times in the company's zone. */
export function webhookState(
  { enabled, watched_since, api_key_id, doc }: Pick<WebhookRow, 'enabled' | 'watched_since' | 'api_key_id' | 'doc'>,
  health: Omit<WebhookHealth, 'company_id' | 'webhook_id'> | null,
  pausedBy: PauseConditions,
  zone: string,
) {
  const failing = counts({ watched_since }, health?.failing_since) ? health.failing_since : null
  const pause_reason = enabled ? pauseReason(api_key_id, pausedBy) : null
  return {
    api_key_id,
    status: enabled
      ? pause_reason
        ? 'paused'
        : hasNoResponse({ watched_since }, health)
          ? 'no_response'
          : 'active'
      : 'disabled',
    pause_reason,
    last_success_at: health?.last_success_at ? inZone(health.last_success_at, zone) : null,
    failing_since: failing && inZone(failing, zone),
    overlap_ends_at:
      doc.overlap_ends_at !== null && doc.overlap_ends_at > pausedBy.now ? inZone(doc.overlap_ends_at, zone) : null,
  } as const
}

const keyOfEndpoint = (keyId: number | null | undefined) => (typeof keyId === 'number' ? [apiKeyById(keyId)] : [])

export const webhookView: RecordView = {
  refs: (id) => [webhookById(id), webhookHealthById(id), ownCompany],
  refsMore: (rows, id) => keyOfEndpoint(rows.get(webhookById(id))?.api_key_id),
  render(rows, id, now) {
    const row = rows.get(webhookById(id))
    if (!row || row.deleted_at) return null
    const [keyRef] = keyOfEndpoint(row.api_key_id)
    const pausedBy = { plan: companyRef(rows).plan, key: keyRef ? rows.get(keyRef) : null, now }
    return JSON.stringify({
      ...row.doc,
      ...webhookState(row, rows.get(webhookHealthById(id)), pausedBy, getTimezone(rows)),
    })
  },
}
