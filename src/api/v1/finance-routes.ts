import * as z from 'zod'
import { CalendarDate } from '#domain/instant.ts'
import { PAYMENT_METHODS } from '#domain/payment-rules.ts'
import { DIFFERENCE_REASONS } from '#events/till-events.ts'
import { Problem } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { CashSessionObject } from '#projections/cash-sessions.ts'
import { getCashSession, listCashSessions } from '#queries/cash-queries.ts'
import { listPaymentMethods, type Summary as SummaryObject, summarize } from '#queries/finance-summary.ts'
import { Amount, Balance, ContractRecordId, Day, NullableText, queryShape, Timestamp } from '#records/field.ts'
import { CASH_SESSION_FILTERS } from '#records/list-filters.ts'
import { type Route, readRoute, single } from '../api-route.ts'
import { pageSchema, singleSchema } from '../contract/contract-document.ts'
import { answerPage, getRoute, listRoute, pageQuery } from './record-routes.ts'
import { SaleSeller } from './sale-routes.ts'

const shownExample = {
  id: 12,
  session_id: 'caixa1-2026-11-21',
  name: 'Gaveta de Bruno, 21/11, manhã',
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
  reason: 'change',
  note: 'Troco a mais na venda 118',
  explained_by_user_id: 3,
  explained_at: '2026-11-22T08:10:00.000-03:00',
  created_at: '2026-11-21T08:00:02.123-03:00',
  updated_at: '2026-11-22T08:10:00.000-03:00',
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
    name: z.string(),
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
    reason: z.enum(DIFFERENCE_REASONS).nullable(),
    note: NullableText,
    explained_by_user_id: ContractRecordId.nullable(),
    explained_at: Timestamp.nullable(),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: 'CashSession', examples: [shownExample] }) satisfies z.ZodType<CashSessionObject>

const SUMS =
  'O esperado na gaveta é abertura + vendas em dinheiro, sem o troco + contas recebidas + entradas − retiradas − devoluções − vendas canceladas depois. Uma venda cancelada enquanto a sua sessão está aberta não conta; depois do fechamento, o dinheiro sai da sessão que o caixa indicar, ou da que o usuário do caixa tem aberta, e a sessão da venda fica como estava. `changed_after_close` diz que algo chegou depois do fechamento: os valores são sempre os de agora.'

/** Cash sessions are made by tills and in the panel; the API reads them. */
export const cashSessionRoutes: readonly Route[] = [
  listRoute({
    path: '/cash-sessions',
    scope: 'sales:read',
    operation: 'listCashSessions',
    summary: 'Lista as sessões de caixa',
    description: `${SUMS} Com \`updated_since\`, também as sessões em que só uma venda mudou.`,
    ofLedger: true,
    record: CashSession,
    filters: queryShape(CASH_SESSION_FILTERS),
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

const Sum = z.strictObject({ count: z.int().min(0), amount: Amount }).meta({ id: 'Sum' })

const AccountSums = z.strictObject({ pending: Sum, overdue: Sum, settled: Sum }).meta({ id: 'AccountSums' })

const SellerSales = z
  .strictObject({
    seller: SaleSeller.nullable(),
    count: z.int().min(0),
    gross: Amount,
    returned: Balance,
    net: Balance,
  })
  .meta({ id: 'SellerSales' })

/** A dispute that the shop wins takes a return back. */
const ReturnSum = z.strictObject({ count: z.int(), amount: Balance }).meta({ id: 'ReturnSum' })

const SaleSums = z
  .strictObject({
    count: z.int().min(0),
    gross: Amount,
    sold: Sum,
    cancelled: Sum,
    returned: ReturnSum,
    net: Balance,
    by_seller: z.array(SellerSales),
  })
  .meta({ id: 'SaleSums' })

const none = { count: 0, amount: '0.00' }

const Summary = z
  .strictObject({
    from: Day,
    to: Day,
    receivables: AccountSums,
    payables: AccountSums,
    sales: SaleSums,
    balance: Balance,
  })
  .meta({
    id: 'Summary',
    examples: [
      {
        from: '2026-11-01',
        to: '2026-11-21',
        receivables: {
          pending: { count: 3, amount: '450.00' },
          overdue: { count: 1, amount: '150.00' },
          settled: { count: 2, amount: '300.00' },
        },
        payables: { pending: none, overdue: none, settled: { count: 1, amount: '1140.00' } },
        sales: {
          count: 12,
          gross: '1830.40',
          sold: { count: 13, amount: '1880.40' },
          cancelled: { count: 1, amount: '50.00' },
          returned: { count: 1, amount: '20.00' },
          net: '1810.40',
          by_seller: [
            { seller: { user_id: 3, name: 'Ana' }, count: 9, gross: '1480.40', returned: '0.00', net: '1480.40' },
            { seller: null, count: 3, gross: '350.00', returned: '0.00', net: '350.00' },
          ],
        },
        balance: '-840.00',
      },
    ],
  }) satisfies z.ZodType<SummaryObject>

const PaymentMethodName = z
  .strictObject({ code: z.enum(PAYMENT_METHODS), name: z.string() })
  .meta({ id: 'PaymentMethod', examples: [{ code: 'pix', name: 'Pix' }] })

/** Sums of a period, and ways to pay an account. */
export const overviewRoutes: readonly Route[] = [
  readRoute({
    path: '/finance/summary',
    scope: 'finance:read',
    operation: 'getSummary',
    summary: 'Soma contas e vendas de um período',
    description:
      'Dias da empresa, inclusive; sem eles, deste mês até hoje. O que está em aberto pelo vencimento, o que foi recebido e pago pelo dia do pagamento, vendas pelo dia da venda.',
    query: z.strictObject({ from: CalendarDate.optional(), to: CalendarDate.optional() }),
    reply: singleSchema(Summary),
    fromReplica: true,
    async read({ reader, caller, query }) {
      const found = await summarize(reader, query, caller)
      if (isRefusal(found)) throw new Problem(found.refused, found.details)
      return { body: single(JSON.stringify(found.summary)), revision: found.revision }
    },
  }),
  readRoute({
    path: '/finance/payment-methods',
    scope: 'finance:read',
    operation: 'listPaymentMethods',
    summary: 'Lista as formas de pagar uma conta',
    query: pageQuery({}),
    reply: pageSchema(PaymentMethodName),
    fromReplica: true,
    read: async ({ reader, query }) => answerPage(await listPaymentMethods(reader, query), query.limit),
  }),
]
