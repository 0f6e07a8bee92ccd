import * as z from 'zod'
import { eraseTestData, MoveTestClockInput, moveTestClock } from '#commands/test-companies.ts'
import { PLANS, TAX_REGIMES } from '#events/companies.ts'
import { Problem } from '#http/problems.ts'
import { getTestCompany } from '#queries/test-companies.ts'
import { singleOf } from '../contract/envelopes.ts'
import { ContractRecordId, NullableText, Timestamp } from '../contract/formats.ts'
import { commandRoute, type Route, readRoute, single } from '../route.ts'

const example = {
  id: 2,
  name: 'Padaria Ipê (teste)',
  cnpj: '11.222.333/0001-81',
  plan: 'api',
  timezone: 'America/Sao_Paulo',
  logo_url: null,
  state_registration: '110042490114',
  tax_regime: 'simples_nacional',
  address: 'Rua da Aurora, 100, Boa Vista, Recife/PE',
  phone: '8133334444',
  brand_color: null,
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
    name: z.string(),
    cnpj: z.string(),
    plan: z.enum(PLANS),
    timezone: z.string(),
    logo_url: NullableText,
    state_registration: NullableText,
    tax_regime: z.enum(TAX_REGIMES).nullable(),
    address: NullableText,
    phone: NullableText,
    brand_color: NullableText,
    test: z.literal(true),
    created_at: Timestamp,
    now: Timestamp,
    today: z.iso.date(),
    erased_at: Timestamp.nullable(),
  })
  .meta({ id: 'TestCompany', examples: [example] })

const reply = singleOf(TestCompany)
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
