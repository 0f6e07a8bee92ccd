import * as z from 'zod'
import { SCOPES } from '#domain/scopes.ts'
import { PLANS, TAX_REGIMES } from '#events/companies.ts'
import { getMe } from '#queries/api-keys.ts'
import { MAX_BATCH_ITEMS } from '../batch.ts'
import { singleOf } from '../contract/envelopes.ts'
import { ContractRecordId, NullableText, Timestamp } from '../contract/formats.ts'
import { MAX_BODY_BYTES, readRoute } from '../route.ts'
import { MAX_LIMIT } from './record-routes.ts'

const example = {
  company: {
    id: 1,
    name: 'Padaria Ipê',
    cnpj: '11.222.333/0001-81',
    state_registration: '110042490114',
    tax_regime: 'simples_nacional',
    logo_url: `/pictures/1/logo/${'0b'.repeat(32)}.webp`,
    brand_color: '#0b5fa5',
    test: false,
  },
  key: {
    id: 4,
    name: 'Loja virtual',
    prefix: 'tb_live_9fQ2',
    scopes: ['catalog:read', 'sales:write'],
    created_at: '2026-11-01T10:00:00.000-03:00',
    expires_at: null,
  },
  plan: 'api',
  server_time: '2026-11-21T08:17:15.123-03:00',
  limits: {
    requests_per_minute: 120,
    requests_per_day: 50_000,
    bytes_per_day: 1_073_741_824,
    batch_items: 500,
    page_size: 200,
    body_bytes: 1_048_576,
  },
}

/** The authenticated company and key, with scopes and quotas (queries/api-keys.ts). */
const Me = z
  .strictObject({
    company: z
      .strictObject({
        id: ContractRecordId,
        name: z.string(),
        cnpj: z.string(),
        state_registration: NullableText,
        tax_regime: z.enum(TAX_REGIMES).nullable(),
        logo_url: NullableText,
        brand_color: NullableText,
        test: z.boolean(),
      })
      .meta({ id: 'MeCompany' }),
    key: z
      .strictObject({
        id: ContractRecordId,
        name: z.string(),
        prefix: z.string(),
        scopes: z.array(z.enum(SCOPES)),
        created_at: Timestamp,
        expires_at: Timestamp.nullable(),
      })
      .meta({ id: 'MeKey' }),
    plan: z.enum(PLANS),
    server_time: Timestamp,
    limits: z
      .strictObject({
        requests_per_minute: z.int(),
        requests_per_day: z.int(),
        bytes_per_day: z.int(),
        batch_items: z.int(),
        page_size: z.int(),
        body_bytes: z.int(),
      })
      .meta({ id: 'MeLimits' }),
  })
  .meta({ id: 'Me', examples: [example] })

/** BATCH-1, LIST-2, HTTP-7. */
const FIXED_LIMITS = { batch_items: MAX_BATCH_ITEMS, page_size: MAX_LIMIT, body_bytes: MAX_BODY_BYTES }

export const meRoute = readRoute({
  path: '/me',
  scope: null,
  operation: 'getMe',
  summary: 'Empresa, chave e limites de quem chama',
  reply: singleOf(Me),
  async read({ reader, caller, quota: limits }) {
    const found = await getMe(reader, caller.keyId)
    if (!found) return null
    const data = {
      ...found.me,
      limits: {
        requests_per_minute: limits.perMinute,
        requests_per_day: limits.perDay,
        bytes_per_day: limits.bytesPerDay,
        ...FIXED_LIMITS,
      },
    }
    return { body: JSON.stringify({ data }), revision: found.revision }
  },
})
