import * as z from 'zod'
import { CalendarDate } from '#domain/instant.ts'
import { PAYMENT_METHODS } from '#domain/payment-rules.ts'
import { Problem } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import { listPaymentMethods, type Summary as SummaryObject, summarize } from '#queries/finance-summary.ts'
import { type Route, readRoute, single } from '../api-route.ts'
import { pageSchemaOf, singleOf } from '../contract/contract-document.ts'
import { Amount, Balance, Day } from '../contract/formats.ts'
import { answerPage, pageQuery } from './record-routes.ts'
import { SaleSeller } from './sale-routes.ts'

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
    reply: singleOf(Summary),
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
    reply: pageSchemaOf(PaymentMethodName),
    fromReplica: true,
    read: async ({ reader, query }) => answerPage(await listPaymentMethods(reader, query), query.limit),
  }),
]
