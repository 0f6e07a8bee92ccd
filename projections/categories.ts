import { inZone } from '#domain/instant.ts'
import { nameKey } from '#domain/text.ts'
import { byKey, byPk, table } from '#ledger/table.ts'
import { companyOf, timezoneOf } from './companies.ts'
import { BY_CHANGE, type Changed, changedColumns, docView, projection, stamp } from './define.ts'

/** A category of catalog items as the API shows it. */
export interface CategoryObject {
  id: number
  external_id: string | null
  name: string
  created_at: string
  updated_at: string
}

export interface CategoryRow extends Changed {
  company_id: number
  id: number
  external_id: string | null
  name_key: string
  doc: CategoryObject
}

export const categories = table<CategoryRow>('categories', {
  columns: {
    company_id: 'bigint',
    id: 'bigint',
    external_id: 'text',
    name_key: 'text',
    ...changedColumns,
    doc: 'json',
  },
  keys: { pk: ['company_id', 'id'], external: ['company_id', 'external_id'], name: ['company_id', 'name_key'] },
  indexes: [BY_CHANGE],
})

export const categoryById = (id: number) => byPk(categories, id)
export const categoryByExternalId = (externalId: string) => byKey(categories, 'external', externalId)
export const categoryByName = (name: string) => byKey(categories, 'name', nameKey(name))

export const categoriesProjection = projection('categories', [categories], {
  CategoryCreated: {
    apply(rows, event) {
      const { company_id } = companyOf(rows)
      const { id, external_id, name } = event.data
      const at = inZone(event.recorded_at, timezoneOf(rows))
      const doc: CategoryObject = { id, external_id, name, created_at: at, updated_at: at }
      rows.add(categories, { company_id, id, external_id, name_key: nameKey(name), ...stamp(event), doc })
    },
  },
})

export const categoryView = docView(categoryById)
