import * as z from 'zod'
import { eraseTestData, MoveTestClockInput, moveTestClock } from '#commands/company-commands.ts'
import { SCOPES } from '#domain/rights.ts'
import { limitedText } from '#domain/text.ts'
import { Problem } from '#http/problems.ts'
import { ErrorCode, getMe, getRequest, listRequests, REQUEST_METHODS, RequestPath } from '#queries/api-key-queries.ts'
import { getTestCompany } from '#queries/company-queries.ts'
import { COMPANY_FIELDS } from '#records/company-settings.ts'
import {
  Amount,
  answerShape,
  asInteger,
  ContractRecordId,
  NullableText,
  pickFields,
  QueryInstant,
  Timestamp,
} from '#records/field.ts'
import { commandRoute, MAX_BODY_BYTES, type Route, readRoute, single } from '../api-route.ts'
import { MAX_BATCH_ITEMS } from '../batch.ts'
import { pageSchema, singleSchema } from '../contract/contract-document.ts'
import { answerPage, answerRecord, MAX_LIMIT, pageQuery } from './record-routes.ts'

const meExample = {
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
    max_amount_per_call: null,
    max_amount_per_day: '500.00',
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

/** The authenticated company and key, with scopes and quotas (queries/api-key-queries.ts). */
const Me = z
  .strictObject({
    company: z
      .strictObject({
        id: ContractRecordId,
        ...answerShape(
          pickFields(COMPANY_FIELDS, 'name', 'cnpj', 'state_registration', 'tax_regime', 'logo_url', 'brand_color'),
        ),
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
        max_amount_per_call: Amount.nullable(),
        max_amount_per_day: Amount.nullable(),
      })
      .meta({ id: 'MeKey' }),
    plan: COMPANY_FIELDS.plan.answer,
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
  .meta({ id: 'Me', examples: [meExample] })

/** BATCH-2, LIST-3, HTTP-15. */
const FIXED_LIMITS = { batch_items: MAX_BATCH_ITEMS, page_size: MAX_LIMIT, body_bytes: MAX_BODY_BYTES }

export const meRoute = readRoute({
  path: '/me',
  scope: null,
  operation: 'getMe',
  summary: 'Empresa, chave e limites de quem chama',
  reply: singleSchema(Me),
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

const callExample = {
  request_id: '019aa5c2-6c1d-7a31-8a55-0f2f2b7c9d10',
  at: '2026-11-21T08:17:15.123-03:00',
  api_key_id: 7,
  method: 'POST',
  path: '/sales',
  query: null,
  status: 422,
  code: 'payment_mismatch',
  duration_ms: 12,
  replayed: false,
  traceparent: null,
}

const callShape = {
  request_id: z.uuid(),
  at: Timestamp,
  api_key_id: ContractRecordId,
  method: z.string(),
  path: z.string(),
  query: NullableText,
  status: z.int().nullable(),
  code: NullableText,
  duration_ms: z.int().min(0),
  replayed: z.boolean(),
  traceparent: NullableText,
  via: z.string().optional(),
}

/** A logged API request (queries/api-key-queries.ts). */
const Call = z.strictObject(callShape).meta({ id: 'Call', examples: [callExample] })

const CallWithBody = z
  .strictObject({ ...callShape, body: z.unknown(), details: z.record(z.string(), z.unknown()).nullable() })
  .meta({
    id: 'CallWithBody',
    examples: [
      {
        ...callExample,
        body: { items: [{ catalog_item_id: 4, quantity: '2' }], payments: [{ payment_type_id: 1, amount: '19.00' }] },
        details: { total: '19.80', paid: '19.00' },
      },
    ],
  })

const STATUS = 'deve ser um status, como 422, ou uma classe deles, como 4xx'

const scope = 'audit:read'
const kept =
  'As chamadas são guardadas por 7 dias. Do que foi enviado fica só o que não é pessoal nem segredo: o resto aparece como `(retido)`.'

/** The request log of a company (KIT-50, KIT-51). */
export const requestRoutes: readonly Route[] = [
  readRoute({
    path: '/requests',
    scope,
    operation: 'listRequests',
    summary: 'Lista as chamadas da empresa à API, da mais nova à mais antiga',
    description: `De todas as chaves da empresa. ${kept}`,
    query: pageQuery({
      api_key_id: limitedText(20)
        .regex(/^[1-9]\d{0,14}$/, 'deve ser o id de uma chave')
        .transform(Number)
        .meta({ override: asInteger({ minimum: 1 }) })
        .optional(),
      method: z.enum(REQUEST_METHODS).optional(),
      status: limitedText(10, STATUS)
        .regex(/^[1-5](xx|\d\d)$/, STATUS)
        .meta({ description: 'Só chamadas com este status, ou desta classe: `422`, `4xx`.' })
        .optional(),
      code: ErrorCode.optional(),
      path: RequestPath.optional(),
      since: QueryInstant.meta({ description: 'Só o que começou neste momento ou depois.' }).optional(),
      until: QueryInstant.optional(),
    }),
    reply: pageSchema(Call),
    async read({ reader, calls, query }) {
      await calls.flush()
      return answerPage(await listRequests(reader, query), query.limit)
    },
  }),
  readRoute({
    path: '/requests/:request_id',
    scope,
    operation: 'getRequest',
    summary: 'Mostra uma chamada, e o corpo de uma que foi recusada',
    description: kept,
    reply: singleSchema(CallWithBody),
    async read({ reader, calls, params }) {
      const id = z.uuid().safeParse(params.request_id).data
      if (id === undefined) return null
      await calls.flush()
      return answerRecord(await getRequest(reader, id))
    },
  }),
]

const testCompanyExample = {
  id: 2,
  name: 'Padaria Ipê (teste)',
  cnpj: '11.222.333/0001-81',
  plan: 'api',
  timezone: 'America/Sao_Paulo',
  logo_url: null,
  state_registration: '110042490114',
  tax_regime: 'simples_nacional',
  business_type: 'cafe',
  address: 'Rua da Aurora, 100, Boa Vista, Recife/PE',
  phone: '8133334444',
  brand_color: null,
  pix_key: null,
  pix_city: null,
  voucher_days: 30,
  test: true,
  created_at: '2026-11-20T08:00:00.000-03:00',
  now: '2026-12-31T08:17:15.123-03:00',
  today: '2026-12-31',
  erased_at: null,
}

/** The key's company and its clock (KIT-34). */
const TestCompany = z
  .strictObject({
    id: ContractRecordId,
    ...answerShape(COMPANY_FIELDS),
    test: z.literal(true),
    created_at: Timestamp,
    now: Timestamp,
    today: z.iso.date(),
    erased_at: Timestamp.nullable(),
  })
  .meta({ id: 'TestCompany', examples: [testCompanyExample] })

const reply = singleSchema(TestCompany)
const refusals = ['not_test_company'] as const

/** For integration tests: allowed for any key of a test company, and for no key of a real one. */
export const testCompanyRoutes: readonly Route[] = [
  readRoute({
    path: '/test/clock',
    scope: null,
    operation: 'getTestClock',
    summary: 'Consulta o relógio da empresa de teste',
    reply,
    refusals,
    async read({ reader }) {
      const { record, revision } = await getTestCompany(reader)
      if (record === null) throw new Problem('not_test_company')
      return { body: single(record), revision }
    },
  }),
  commandRoute({
    method: 'post',
    path: '/test/clock',
    scope: null,
    operation: 'moveTestClock',
    summary: 'Adianta o relógio da empresa de teste',
    description:
      'Até um momento (`now`) ou por dias (`advance_days`), nunca para trás. Contas vencem, prazos de pagamento passam e reenvios de webhooks saem pela nova hora; os eventos continuam com a hora em que foram registrados, e chaves e acessos valem pela hora de todos.',
    body: MoveTestClockInput,
    example: { advance_days: 40 },
    reply,
    status: 200,
    refusals,
    command: moveTestClock,
    input: (_params, body) => body,
  }),
  commandRoute({
    method: 'post',
    path: '/test/reset',
    scope: null,
    operation: 'resetTestCompany',
    summary: 'Apaga os dados da empresa de teste',
    description:
      'Cadastros, vendas, contas e pedidos são apagados, e o relógio volta à hora de todos. Ficam a empresa, usuários, chaves, webhooks, lojas e formas de pagamento; os números não são usados de novo, e o livro guarda tudo. Quem mantém uma cópia recebe `test_data_erased` ao perguntar pelo que mudou antes.',
    reply,
    status: 200,
    refusals,
    command: eraseTestData,
    input: () => ({}),
  }),
]
