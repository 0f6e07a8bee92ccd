import { dateInZone } from '#domain/instant.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { refuse } from '#domain/refusals.ts'
import type { DataOf, EventName } from '#events/catalogue.ts'
import type { Envelope, NewEvent } from '#ledger/command.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import type { Guard } from '#ledger/write/unit-of-work.ts'
import { companyRef, companysTime, getTimezone, parseKeyActor } from './companies.ts'
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

function keyRefs({ actor }: Envelope) {
  const id = parseKeyActor(actor)
  return id === null ? [] : [apiKeyById(id)]
}

function countAmount(rows: Changes, event: Envelope): void {
  const [ref] = keyRefs(event)
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
  ...Object.fromEntries(Object.keys(AMOUNTS).map((type) => [type, { refs: keyRefs, apply: countAmount }] as const)),
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
