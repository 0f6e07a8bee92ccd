import { addMilliseconds, dateInZone, instantsInZone, inZone } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import type { AdjustedRole, AdjustedRoles, Role } from '#domain/rights.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { type ChangedFields, changedColumns, projection, stamp } from './define-projection.ts'

export type CompanyObject = Required<DataOf<'CompanyRegistered'>> & { created_at: string }

/** Endpoint data that decides which deliveries are made. */
export interface WebhookRoute {
  id: number
  /** Names of outbound events; `*` for all, `basic` for the basic ones. */
  events: string[]
  enabled: boolean
  /** Owning key; changes by this key are not delivered to it; null if the company owns the endpoint. */
  api_key_id: number | null
  /** Scopes of the owning key; null if the company owns the endpoint, which may receive everything. */
  scopes: string[] | null
}

/** Event with an earlier time than the event before it. */
export interface ClockCorrection {
  readonly revision: number
  readonly recorded_at: string
}

export interface CompanyRow extends ChangedFields {
  company_id: number
  timezone: string
  /**
   * Whether the company ever had another zone. Its records then hold instants with other offsets, which are converted
   * when shown.
   */
  zone_changed: boolean
  plan: string
  cnpj: string
  /** Keys that are not revoked, including expired ones. At most twenty may be active. */
  active_keys: { id: number; expires_at: string | null; scopes: string[] }[]
  /** User ids of active owners; the last one cannot be removed. */
  active_owners: number[]
  /** Roles with other permissions than their presets. */
  roles: AdjustedRoles
  /** Webhook endpoints, copied here so that rendering messages needs no extra query. */
  webhooks: WebhookRoute[]
  /** Points where the ledger's times go back, oldest first. Between them times never decrease. */
  clock_corrections: ClockCorrection[]
  /** Payment type of kind `online`, made with the first store; null without one. */
  online_payment_type_id: number | null
  /** Returns of tills that came before their sale; sales look for them only if there are any. */
  awaited_returns: number
  /** Payment types that ever had terms of an acquirer, the first `MAX_ACQUIRER_TYPES`. */
  acquirer_type_ids: readonly number[]
  is_test: boolean
  /** Test twin of a real company; null if it has none. */
  twin_id: number | null
  /** Lead of a test company's clock (KIT-34). */
  clock_ahead_ms: number
  /** Last erasure of a test company's data; null if none. Earlier records exist in the ledger only. */
  erased_revision: number | null
  erased_at: string | null
  doc: CompanyObject
}

export const companies = table<CompanyRow>('companies', {
  about: 'Companies with their settings.',
  columns: {
    company_id: 'bigint',
    timezone: 'text',
    zone_changed: 'boolean',
    plan: 'text',
    cnpj: 'text',
    active_keys: 'json',
    active_owners: 'json',
    roles: 'json',
    webhooks: 'json',
    clock_corrections: 'json',
    online_payment_type_id: 'bigint',
    awaited_returns: 'integer',
    acquirer_type_ids: 'json',
    is_test: 'boolean',
    twin_id: 'bigint',
    clock_ahead_ms: 'bigint',
    erased_revision: 'bigint',
    erased_at: 'timestamptz',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id'] },
  indexes: ['(cnpj)', '(company_id) where clock_ahead_ms > 0'],
  past: {
    id: 'company_id',
    without: [
      'active_keys',
      'active_owners',
      'roles',
      'webhooks',
      'clock_corrections',
      'online_payment_type_id',
      'awaited_returns',
      'acquirer_type_ids',
    ],
  },
})

/** Company of the loaded rows. */
export const ownCompany = byPk(companies)

/** For projections and commands that require the company. */
export function companyRef(rows: Rows): Readonly<CompanyRow> {
  const company = rows.get(ownCompany)
  if (!company) throw new Error('read model: company row missing; register the company first')
  return company
}

/** Company time at real time `at` (UTC): later if a test company's clock was moved. */
export const companysTime = (rows: Rows, at: string): string =>
  addMilliseconds(at, rows.get(ownCompany)?.clock_ahead_ms ?? 0)

/** SQL of companysTime; `c` is the company's row. */
export const companysTimeSql = (at: string): string => `(${at} + c.clock_ahead_ms * interval '1 millisecond')`

/** SQL of the display name, which marks test companies; `c` is the company's row. */
export const MASKED_NAME = `((c.doc ->> 'name') || case when c.is_test then ' [empresa de teste]' else '' end)`

/** Renders a record at company time, with instants in the company's current zone (VAL-3, ADR-0006). */
export const onCompanysClock = (view: RecordView): RecordView => ({
  ...view,
  render(rows, id, now) {
    const record = view.render(rows, id, companysTime(rows, now))
    const { zone_changed, timezone } = companyRef(rows)
    return record !== null && zone_changed ? instantsInZone(record, timezone) : record
  },
})

/** Mark of a test company in its sale events, visible to every reader. */
export const testMark = (rows: Rows): { test?: boolean } => (rows.get(ownCompany)?.is_test ? { test: true } : {})

export const getTimezone = (rows: Rows): string => companyRef(rows).timezone

/** Whether zone and clock never changed. If so, the current row gives the right times for any past event too. */
export const keepsClock = ({ zone_changed, clock_ahead_ms, erased_revision }: CompanyRow): boolean =>
  !zone_changed && clock_ahead_ms === 0 && erased_revision === null

function companyRow(event: EventOf<'CompanyRegistered'>): CompanyRow {
  const { id, name, cnpj, plan, timezone, logo_url, state_registration, tax_regime, test = false } = event.data
  const { address = null, phone = null, brand_color = null, pix_key = null, pix_city = null } = event.data
  const { business_type = null, voucher_days = null } = event.data
  const taxed = { state_registration, tax_regime }
  const doc = {
    id,
    name,
    cnpj,
    plan,
    timezone,
    logo_url,
    ...taxed,
    business_type,
    address,
    phone,
    brand_color,
    pix_key,
    pix_city,
    voucher_days,
    test,
    created_at: event.recorded_at,
  }
  const none = {
    active_keys: [],
    active_owners: [],
    roles: {},
    webhooks: [],
    clock_corrections: [],
    awaited_returns: 0,
    acquirer_type_ids: [],
    online_payment_type_id: null,
  }
  const never = { twin_id: null, clock_ahead_ms: 0, erased_revision: null, erased_at: null }
  return {
    company_id: id,
    timezone,
    zone_changed: false,
    plan,
    cnpj,
    ...none,
    is_test: test,
    ...never,
    ...stamp(event),
    doc,
  }
}

/** Acting key; null if a person or the service acted. */
export function parseKeyActor(actor: string | null): number | null {
  return actor?.startsWith('api_key/') ? Number(actor.slice('api_key/'.length)) : null
}

/** Scopes of an unrevoked key; empty for others. */
export const scopesOfKey = ({ active_keys }: Pick<CompanyRow, 'active_keys'>, keyId: number): string[] =>
  active_keys.find(({ id }) => id === keyId)?.scopes ?? []

const webhookOwner = (company: CompanyRow, api_key_id: number | null) => ({
  api_key_id,
  scopes: api_key_id === null ? null : scopesOfKey(company, api_key_id),
})

const toLimit = (amount: string | null = null): number | null => (amount === null ? null : toCents(amount))

/** Handler of an event that changes one endpoint. */
const routing = <E extends { data: { id: number } }>(
  change: (route: WebhookRoute, event: E) => WebhookRoute | null,
) => ({
  apply(rows: Changes, event: E) {
    const before = companyRef(rows)
    const webhooks = before.webhooks.flatMap((route) =>
      route.id === event.data.id ? (change(route, event) ?? []) : route,
    )
    rows.put(companies, { ...before, webhooks })
  },
})

/** A shop has a few. */
const MAX_ACQUIRER_TYPES = 50

type AcquirerFields = Partial<DataOf<'PaymentTypeCreated'>>

function noteAcquirer(rows: Changes, id: number, fields: AcquirerFields): void {
  const company = companyRef(rows)
  const { acquirer_type_ids: ids } = company
  const { acquirer_rate, acquirer_rate_2_6, acquirer_rate_7_12, settles_in_days } = fields
  const terms = [acquirer_rate, acquirer_rate_2_6, acquirer_rate_7_12, settles_in_days]
  const isNew = terms.some((term) => term !== undefined && term !== null) && !ids.includes(id)
  if (isNew && ids.length < MAX_ACQUIRER_TYPES) rows.put(companies, { ...company, acquirer_type_ids: [...ids, id] })
}

function adjustRole(rows: Changes, event: EventOf<'RoleCreated' | 'RoleAdjusted'>): void {
  const before = companyRef(rows)
  const roles: Partial<Record<Role, AdjustedRole>> = { ...before.roles }
  const { role, role_name: name, permissions, return_limit, discount_limit } = event.data
  if (permissions)
    roles[role] = {
      granted: permissions,
      limits: { return_goods: toLimit(return_limit), give_discount: toLimit(discount_limit) },
      ...(name !== undefined && { name }),
    }
  else delete roles[role]
  rows.put(companies, { ...before, ...stamp(event), roles })
}

export const companiesProjection = projection('companies', [companies], {
  CompanyRegistered: { apply: (rows, event) => rows.add(companies, companyRow(event)) },
  CompanyUpdated: {
    apply(rows, event) {
      const before = companyRef(rows)
      const doc = { ...before.doc, ...event.data.changes }
      const { timezone, plan, cnpj } = doc
      const zone_changed = before.zone_changed || timezone !== before.timezone
      rows.put(companies, { ...before, timezone, zone_changed, plan, cnpj, ...stamp(event), doc })
    },
  },
  RoleCreated: { apply: adjustRole },
  RoleAdjusted: { apply: adjustRole },
  RoleRemoved: {
    apply(rows, event) {
      const { [event.data.role]: _, ...roles } = companyRef(rows).roles
      rows.put(companies, { ...companyRef(rows), ...stamp(event), roles })
    },
  },
  CompanyClockCorrected: {
    apply(rows, event) {
      const before = companyRef(rows)
      const { revision, recorded_at } = event
      rows.put(companies, { ...before, clock_corrections: [...before.clock_corrections, { revision, recorded_at }] })
    },
  },
  TestTwinMade: {
    apply: (rows, event) => rows.put(companies, { ...companyRef(rows), ...stamp(event), twin_id: event.data.twin_id }),
  },
  TestClockMoved: {
    apply(rows, event) {
      const before = companyRef(rows)
      rows.put(companies, { ...before, ...stamp(event), clock_ahead_ms: before.clock_ahead_ms + event.data.by_ms })
    },
  },
  TestDataErased: {
    apply(rows, event) {
      const { revision: erased_revision, recorded_at: erased_at } = event
      rows.put(companies, {
        ...companyRef(rows),
        ...stamp(event),
        clock_ahead_ms: 0,
        awaited_returns: 0,
        erased_revision,
        erased_at,
      })
    },
  },
  PaymentTypeCreated: {
    apply(rows, { data }) {
      const { id, kind } = data
      if (kind === 'online') rows.put(companies, { ...companyRef(rows), online_payment_type_id: id })
      noteAcquirer(rows, id, data)
    },
  },
  PaymentTypeUpdated: {
    apply: (rows, { data: { id, changes } }) => noteAcquirer(rows, id, changes),
  },
  ApiKeyCreated: {
    apply(rows, event) {
      const before = companyRef(rows)
      const { id, expires_at, scopes } = event.data
      const key = { id, expires_at, scopes }
      rows.put(companies, { ...before, active_keys: [...before.active_keys, key] })
    },
  },
  ApiKeyRevoked: {
    apply(rows, event) {
      const before = companyRef(rows)
      rows.put(companies, { ...before, active_keys: before.active_keys.filter((key) => key.id !== event.data.id) })
    },
  },
  WebhookRegistered: {
    apply(rows, event) {
      const before = companyRef(rows)
      const { id, events } = event.data
      const owner = webhookOwner(before, parseKeyActor(event.actor))
      rows.put(companies, { ...before, webhooks: [...before.webhooks, { id, events, enabled: true, ...owner }] })
    },
  },
  WebhookUpdated: routing((route, event: EventOf<'WebhookUpdated'>) => ({
    ...route,
    events: event.data.changes.events ?? route.events,
  })),
  WebhookHandedOver: {
    apply(rows, event) {
      const before = companyRef(rows)
      const { id, api_key_id } = event.data
      const owner = webhookOwner(before, api_key_id)
      const webhooks = before.webhooks.map((route) => (route.id === id ? { ...route, ...owner } : route))
      rows.put(companies, { ...before, webhooks })
    },
  },
  WebhookEnabled: routing((route) => ({ ...route, enabled: true })),
  WebhookSwitchedOff: routing((route) => ({ ...route, enabled: false })),
  WebhookDeleted: routing(() => null),
})

/** Test company with its clock: current time, day and last erasure in its time zone. */
export type TestCompanyObject = CompanyObject & { now: string; today: string; erased_at: string | null }

/** `now` is company time (UTC). */
export function testCompany(
  { doc, timezone, erased_at }: Pick<CompanyRow, 'doc' | 'timezone' | 'erased_at'>,
  now: string,
): TestCompanyObject {
  const local = (instant: string) => inZone(instant, timezone)
  const clock = { now: local(now), today: dateInZone(now, timezone), erased_at: erased_at && local(erased_at) }
  return { ...doc, created_at: local(doc.created_at), ...clock }
}

export const companyView: RecordView = {
  refs: () => [ownCompany],
  render(rows, _id, now) {
    const company = companyRef(rows)
    return JSON.stringify(company.is_test ? testCompany(company, now) : company.doc)
  },
}
