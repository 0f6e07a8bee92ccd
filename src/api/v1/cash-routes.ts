import * as z from 'zod'
import { ExternalId } from '#domain/text.ts'
import type { CashSessionObject } from '#projections/cash-sessions.ts'
import { getCashSession, listCashSessions } from '#queries/cash-queries.ts'
import type { Route } from '../api-route.ts'
import { Amount, Balance, ContractRecordId, Timestamp } from '../contract/formats.ts'
import { getRoute, listRoute } from './record-routes.ts'

const shownExample = {
  id: 12,
  session_id: 'caixa1-2026-11-21',
  status: 'closed',
  opened_at: '2026-11-21T08:00:00.000-03:00',
  opened_by_user_id: 7,
  closed_at: '2026-11-21T18:05:00.000-03:00',
  closed_by_user_id: 7,
  sales_count: 41,
  cash: {
    opening: '150.00',
    sales: '903.40',
    received: '58.00',
    in: '50.00',
    out: '400.00',
    returned: '37.80',
    cancelled: '18.90',
  },
  expected: '704.70',
  counted: '702.70',
  difference: '-2.00',
  by_payment_type: [
    { payment_type_id: 1, is_cash: true, expected: '704.70', counted: '702.70', difference: '-2.00' },
    { payment_type_id: 2, is_cash: false, expected: '512.30', counted: '512.30', difference: '0.00' },
    { payment_type_id: 4, is_cash: false, expected: '221.00', counted: null, difference: null },
  ],
  changed_after_close: false,
  created_at: '2026-11-21T08:00:02.123-03:00',
  updated_at: '2026-11-21T18:05:01.456-03:00',
} as const

const Way = z
  .strictObject({
    payment_type_id: ContractRecordId.nullable(),
    is_cash: z.boolean(),
    expected: Balance,
    counted: Amount.nullable(),
    difference: Balance.nullable(),
  })
  .meta({ id: 'CashSessionPaymentType' })

const CashSession = z
  .strictObject({
    id: ContractRecordId,
    session_id: z.string(),
    status: z.enum(['open', 'closed']),
    opened_at: Timestamp.nullable(),
    opened_by_user_id: ContractRecordId.nullable(),
    closed_at: Timestamp.nullable(),
    closed_by_user_id: ContractRecordId.nullable(),
    sales_count: z.int().min(0),
    cash: z
      .strictObject({
        opening: Amount,
        sales: Amount,
        received: Amount,
        in: Amount,
        out: Amount,
        returned: Amount,
        cancelled: Amount,
      })
      .meta({ id: 'CashSessionDrawer' }),
    expected: Balance,
    counted: Amount.nullable(),
    difference: Balance.nullable(),
    by_payment_type: z.array(Way),
    changed_after_close: z.boolean(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'CashSession', examples: [shownExample] }) satisfies z.ZodType<CashSessionObject>

const SUMS =
  'O esperado na gaveta é abertura + vendas em dinheiro, sem o troco + contas recebidas + entradas − retiradas − devoluções − vendas canceladas depois. Uma venda cancelada enquanto a sua sessão está aberta não conta; depois do fechamento, o dinheiro sai da sessão que o caixa indicar, ou da que o usuário do caixa tem aberta, e a sessão da venda fica como estava. `changed_after_close` diz que algo chegou depois do fechamento: os valores são sempre os de agora.'

/** Cash sessions are made by tills; the API reads them. */
export const cashSessionRoutes: readonly Route[] = [
  listRoute({
    path: '/cash-sessions',
    scope: 'sales:read',
    operation: 'listCashSessions',
    summary: 'Lista as sessões de caixa',
    description: `${SUMS} Com \`updated_since\`, também as sessões em que só uma venda mudou.`,
    ofLedger: true,
    record: CashSession,
    filters: { session_id: ExternalId.optional(), status: z.enum(['open', 'closed']).optional() },
    list: listCashSessions,
  }),
  getRoute({
    path: '/cash-sessions/:id',
    scope: 'sales:read',
    operation: 'getCashSession',
    summary: 'Mostra uma sessão de caixa',
    description: SUMS,
    record: CashSession,
    get: getCashSession,
    fromReplica: true,
  }),
]
