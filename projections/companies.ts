import type { EventOf } from '#events/catalogue.ts'
import type { RecordView } from '#ledger/projection.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { type Changed, changedColumns, projection, stamp } from './define.ts'

/** The company as the command line and the panel show it. */
export interface CompanyObject {
  id: number
  name: string
  cnpj: string
  plan: 'basic' | 'api'
  timezone: string
  logo_url: string | null
  created_at: string
}

/** Where events of a company are to be delivered. */
export interface WebhookRoute {
  id: number
  /** Names of outbound events, or `*` for all. */
  events: string[]
  enabled: boolean
  /** Who registered it; a key's own doings are not told to its own address. */
  registered_by: string | null
}

export interface CompanyRow extends Changed {
  company_id: number
  timezone: string
  plan: string
  /** Keys that are not revoked; expired ones are among them. At most five count (spec, Limits). */
  active_keys: { id: number; expires_at: string | null }[]
  /** Ids of the users who are owners and active: there is always one of them left. */
  active_owners: number[]
  /** Its webhook addresses: what a reactor has to know of them, without another look-up. */
  webhooks: WebhookRoute[]
  doc: CompanyObject
}

export const companies = table<CompanyRow>('companies', {
  columns: {
    company_id: 'bigint',
    timezone: 'text',
    plan: 'text',
    active_keys: 'json',
    active_owners: 'json',
    webhooks: 'json',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id'] },
})

/** The company whose rows these are. */
export const ownCompany = byPk(companies)

/** The company's row in a projection or a decision, where it must exist. */
export function companyOf(rows: Rows): Readonly<CompanyRow> {
  const company = rows.get(ownCompany)
  if (!company) throw new Error('the company is not registered')
  return company
}

export const timezoneOf = (rows: Rows): string => companyOf(rows).timezone

function companyRow(event: EventOf<'CompanyRegistered'>): CompanyRow {
  const { id, name, cnpj, plan, timezone, logo_url } = event.data
  const doc = { id, name, cnpj, plan, timezone, logo_url, created_at: event.recorded_at }
  return { company_id: id, timezone, plan, active_keys: [], active_owners: [], webhooks: [], ...stamp(event), doc }
}

/** For an event that changes what is known of one address. */
const routing = <E extends { data: { id: number } }>(
  change: (route: WebhookRoute, event: E) => WebhookRoute | null,
) => ({
  apply(rows: Changes, event: E) {
    const before = companyOf(rows)
    const webhooks = before.webhooks.flatMap((route) =>
      route.id === event.data.id ? (change(route, event) ?? []) : route,
    )
    rows.put(companies, { ...before, webhooks })
  },
})

export const companiesProjection = projection('companies', [companies], {
  CompanyRegistered: { apply: (rows, event) => rows.add(companies, companyRow(event)) },
  CompanyUpdated: {
    apply(rows, event) {
      const before = companyOf(rows)
      const doc = { ...before.doc, ...event.data.changes }
      rows.put(companies, { ...before, timezone: doc.timezone, plan: doc.plan, ...stamp(event), doc })
    },
  },
  ApiKeyCreated: {
    apply(rows, event) {
      const before = companyOf(rows)
      const key = { id: event.data.id, expires_at: event.data.expires_at }
      rows.put(companies, { ...before, active_keys: [...before.active_keys, key] })
    },
  },
  ApiKeyRevoked: {
    apply(rows, event) {
      const before = companyOf(rows)
      rows.put(companies, { ...before, active_keys: before.active_keys.filter((key) => key.id !== event.data.id) })
    },
  },
  WebhookRegistered: {
    apply(rows, event) {
      const before = companyOf(rows)
      const { id, events } = event.data
      const route = { id, events, enabled: true, registered_by: event.actor }
      rows.put(companies, { ...before, webhooks: [...before.webhooks, route] })
    },
  },
  WebhookUpdated: routing((route, event: EventOf<'WebhookUpdated'>) => ({
    ...route,
    events: event.data.changes.events ?? route.events,
  })),
  WebhookEnabled: routing((route) => ({ ...route, enabled: true })),
  WebhookSwitchedOff: routing((route) => ({ ...route, enabled: false })),
  WebhookDeleted: routing(() => null),
})

export const companyView: RecordView = {
  refs: () => [ownCompany],
  render: (rows) => JSON.stringify(companyOf(rows).doc),
}
