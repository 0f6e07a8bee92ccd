import type { AdjustedRoles } from '#domain/permissions.ts'
import type { Reader } from './reader.ts'
import { t } from './table-names.ts'

/**
 * JSON text of a till's configuration: company, payment types, user. An uploaded logo gets its whole URL.
 */
export async function getConfig(reader: Reader, userId: number, publicUrl: string): Promise<string> {
  const { rows } = await reader.query<{ config: string }>({ ...TILL_CONFIG, values: [userId, publicUrl] })
  const [found] = rows
  if (!found) throw new Error(`user ${userId} of company ${reader.companyId} does not exist`)
  return found.config
}

const TILL_CONFIG = {
  name: 'get_sync_config',
  text: `select '{"company":' || json_build_object(
             'id', c.company_id, 'name', c.doc -> 'name', 'cnpj', c.doc -> 'cnpj', 'logo_url',
             case when c.doc ->> 'logo_url' like '/%' then $3::text else '' end || coalesce(c.doc ->> 'logo_url', ''))::text
           || ',"payment_types":[' || coalesce((
             select string_agg('{"id":' || p.id
               || ',"name":' || (p.doc -> 'name')::text
               || ',"kind":' || (p.doc -> 'kind')::text
               || ',"is_cash":' || (p.doc -> 'is_cash')::text
               || ',"fee_percentage":' || (p.doc ->> 'fee_percentage')
               || ',"due_days":' || (p.doc -> 'due_days')::text || '}', ',' order by p.id)
             -- That of the online store is for orders only.
             from ${t.payment_types} p where p.company_id = c.company_id and p.doc ->> 'kind' <> 'online'), '')
           || '],"user":' || json_build_object('id', u.id, 'name', u.doc -> 'name', 'role', u.doc -> 'role')::text
           || '}' as config
         from ${t.companies} c
         join ${t.users} u on u.company_id = c.company_id and u.id = $2
         where c.company_id = $1`,
}

const ADJUSTED_ROLES = { name: 'adjusted_roles', text: `select roles from ${t.companies} where company_id = $1` }

/** Roles with other permissions than their presets. */
export async function adjustedRolesOf(reader: Reader): Promise<AdjustedRoles> {
  const { rows } = await reader.query<{ roles: AdjustedRoles }>({ ...ADJUSTED_ROLES })
  return rows[0]?.roles ?? {}
}

/** Progress of a new company's setup. */
export interface FirstSteps {
  readonly has_data: boolean
  readonly has_payment_type: boolean
  readonly has_item: boolean
  /** An API key or a sale from a till exists. */
  readonly has_seller: boolean
  readonly has_sale: boolean
}

export async function firstSteps(reader: Reader): Promise<FirstSteps> {
  const { rows } = await reader.query<FirstSteps>({ ...FIRST_STEPS })
  if (!rows[0]) throw new Error(`company ${reader.companyId} is not registered`)
  return rows[0]
}

const FIRST_STEPS = {
  name: 'panel_first_steps',
  text: `select coalesce(doc ->> 'state_registration', doc ->> 'tax_regime', doc ->> 'logo_url') is not null as has_data,
      exists (select from ${t.payment_types} t where t.company_id = $1) as has_payment_type,
      exists (select from ${t.catalog_items} t where t.company_id = $1) as has_item,
      exists (select from ${t.api_keys} t where t.company_id = $1) or exists (select from ${t.offline_sales} t where t.company_id = $1) as has_seller,
      exists (select from ${t.sales} t where t.company_id = $1) as has_sale
    from ${t.companies} where company_id = $1`,
}
