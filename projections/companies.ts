import type { EventOf } from '../src/events/catalogue.ts'
import type { RecordView } from '../src/ledger/projection.ts'
import { byPk, table } from '../src/ledger/table.ts'
import type { Rows } from '../src/ledger/working-set.ts'
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

export interface CompanyRow extends Changed {
  company_id: number
  timezone: string
  plan: string
  /** Keys that are not revoked; expired ones are among them. At most five count (spec, Limits). */
  active_keys: { id: number; expires_at: string | null }[]
  doc: CompanyObject
}

export const companies = table<CompanyRow>('companies', {
  columns: {
    company_id: 'bigint',
    timezone: 'text',
    plan: 'text',
    active_keys: 'json',
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
  return { company_id: id, timezone, plan, active_keys: [], ...stamp(event), doc }
}

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
})

export const companyView: RecordView = {
  refs: () => [ownCompany],
  render: (rows) => JSON.stringify(companyOf(rows).doc),
}
