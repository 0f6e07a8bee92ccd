import * as z from 'zod'
import {
  AccountPaymentBody,
  type AccountPaymentInput,
  PaymentReversal,
  type ReversalInput,
  type SettleInput,
  Settlement,
} from '#commands/account-commands.ts'
import {
  CreatePayableInput,
  CreateReceivableInput,
  createPayable,
  createReceivable,
  deletePayable,
  deleteReceivable,
  PayableChanges,
  PayableReplacement,
  payPayable,
  payReceivable,
  ReceivableChanges,
  ReceivableReplacement,
  ReplacePayableInput,
  ReplaceReceivableInput,
  replacePayable,
  replaceReceivable,
  reversePayablePayment,
  reverseReceivablePayment,
  settlePayable,
  settleReceivable,
  updatePayable,
  updateReceivable,
} from '#commands/receivables-payables.ts'
import type { Calendar } from '#domain/instant.ts'
import { ExternalId } from '#domain/text.ts'
import { pathId, withId } from '#http/paths.ts'
import type { Command } from '#ledger/command.ts'
import {
  type PayableObject,
  payableByExternalId,
  type ReceivableObject,
  receivableByExternalId,
} from '#projections/finance.ts'
import {
  type AccountListing,
  getAccount,
  getAccountByExternalId,
  listAccounts,
  listDeletedAccounts,
  payableListing,
  receivableListing,
} from '#queries/account-queries.ts'
import type { Reader } from '#queries/reader.ts'
import type { DeletedPaging } from '#queries/record-queries.ts'
import { ACCOUNT_FILTERS, ACCOUNT_STATE, PAYABLE_FIELDS, RECEIVABLE_FIELDS } from '#records/accounts.ts'
import { answerShape, ContractRecordId, QueryId, queryShape } from '#records/field.ts'
import { commandRoute, type Route } from '../api-route.ts'
import { singleSchema } from '../contract/contract-document.ts'
import { overviewRoutes } from './finance-routes.ts'
import { recordRoutes } from './record-routes.ts'

/** Request example of a receivable. */
export const receivableExample = {
  external_id: 'REC-2026-11',
  description: 'Mensalidade de novembro',
  customer_external_id: 'CLI-001',
  amount: '150.00',
  due_date: '2026-11-30',
}

/** Request example of a payable. */
export const payableExample = {
  external_id: 'NF-4711',
  description: 'Café em grão, nota 4711',
  supplier_external_id: 'FOR-001',
  amount: '1140.00',
  due_date: '2026-12-10',
}

/** Request example of a settlement. */
const settlementExample = { paid_at: '2026-11-20T10:00:00-03:00', payment_method: 'pix', amount: '150.00' }

/** Members shared by both answer examples. */
const shown = {
  origin: 'api',
  metadata: null,
  sale_id: null,
  installment: null,
  status: 'pending',
  paid_amount: '0.00',
  paid_at: null,
  payment_method: null,
  settled_on: null,
  payments: [],
  created_at: '2026-11-21T08:17:15.123-03:00',
  updated_at: '2026-11-21T08:17:15.123-03:00',
  is_overdue: false,
} as const

const Receivable = z
  .strictObject({ id: ContractRecordId, ...answerShape({ ...RECEIVABLE_FIELDS, ...ACCOUNT_STATE }) })
  .meta({
    id: 'Receivable',
    examples: [
      {
        id: 41,
        ...receivableExample,
        customer_id: 17,
        customer_name: 'Maria da Silva',
        ...shown,
        open_amount: '150.00',
      },
    ],
  }) satisfies z.ZodType<ReceivableObject>

const Payable = z.strictObject({ id: ContractRecordId, ...answerShape({ ...PAYABLE_FIELDS, ...ACCOUNT_STATE }) }).meta({
  id: 'Payable',
  examples: [
    {
      id: 52,
      ...payableExample,
      supplier_id: 9,
      supplier_name: 'Distribuidora Bom Grão Ltda',
      ...shown,
      open_amount: '1140.00',
    },
  ],
}) satisfies z.ZodType<PayableObject>

const accountFilters = queryShape(ACCOUNT_FILTERS)

/** Refusals of both. The point of sale manages the accounts that sales created. */
const LOCKED = ['managed_by_pdv', 'already_settled'] as const
const refusals = {
  create: ['amount_limit', 'duplicate_resource', 'person_forgotten'],
  replace: ['amount_limit', 'person_forgotten', ...LOCKED],
  update: ['amount_limit', 'duplicate_resource', 'person_forgotten', ...LOCKED],
  remove: [...LOCKED, 'has_payments'],
} as const

/** What both resources have alike. */
const commonOf = <E>(listing: AccountListing, whole: E) => ({
  area: 'finance' as const,
  refusals,
  examples: { whole, changes: { due_date: '2026-12-15', description: 'Prazo combinado' } },
  deleted: (reader: Reader, query: DeletedPaging) => listDeletedAccounts(reader, listing, query),
  get: (reader: Reader, id: number, { today }: Calendar) => getAccount(reader, listing, id, today),
  getByExternalId: (reader: Reader, externalId: string, { today }: Calendar) =>
    getAccountByExternalId(reader, listing, externalId, today),
})

const receivables = recordRoutes({
  ...commonOf(receivableListing, receivableExample),
  path: '/finance/receivables',
  one: 'uma conta a receber',
  all: 'as contas a receber',
  names: ['Receivable', 'Receivables'],
  record: Receivable,
  target: { kind: 'receivable', byExternalId: receivableByExternalId },
  filters: { ...accountFilters, customer_id: QueryId.optional(), customer_external_id: ExternalId.optional() },
  list: (reader, { customer_id: party_id, customer_external_id: party_external_id, ...query }, { today }) =>
    listAccounts(reader, receivableListing, { ...query, party_id, party_external_id }, today),
  create: { body: CreateReceivableInput.meta({ id: 'ReceivableInput' }), command: createReceivable },
  replace: {
    item: ReplaceReceivableInput.meta({ id: 'ReceivableBatchItem' }),
    body: ReceivableReplacement.meta({ id: 'ReceivableReplacement' }),
    command: replaceReceivable,
  },
  update: { body: ReceivableChanges.meta({ id: 'ReceivableChanges' }), command: updateReceivable },
  remove: deleteReceivable,
})

const payables = recordRoutes({
  ...commonOf(payableListing, payableExample),
  path: '/finance/payables',
  one: 'uma conta a pagar',
  all: 'as contas a pagar',
  names: ['Payable', 'Payables'],
  record: Payable,
  target: { kind: 'payable', byExternalId: payableByExternalId },
  filters: { ...accountFilters, supplier_id: QueryId.optional(), supplier_external_id: ExternalId.optional() },
  list: (reader, { supplier_id: party_id, supplier_external_id: party_external_id, ...query }, { today }) =>
    listAccounts(reader, payableListing, { ...query, party_id, party_external_id }, today),
  create: { body: CreatePayableInput.meta({ id: 'PayableInput' }), command: createPayable },
  replace: {
    item: ReplacePayableInput.meta({ id: 'PayableBatchItem' }),
    body: PayableReplacement.meta({ id: 'PayableReplacement' }),
    command: replacePayable,
  },
  update: { body: PayableChanges.meta({ id: 'PayableChanges' }), command: updatePayable },
  remove: deletePayable,
})

/** Contract components of both. */
const settlement = Settlement.meta({ id: 'Settlement' })
const accountPayment = AccountPaymentBody.meta({ id: 'AccountPaymentInput' })
const paymentReversal = PaymentReversal.meta({ id: 'AccountPaymentReversal' })

interface PaymentsDescription {
  readonly one: string
  readonly name: string
  readonly path: string
  readonly record: z.ZodType
  readonly settle: Command<SettleInput>
  readonly pay: Command<AccountPaymentInput>
  readonly reverse: Command<ReversalInput>
}

/**
 * Settlement of an account, payments of parts of it, and their reversal. A payment moves money, so a client without an
 * answer must be able to retry: the Idempotency-Key is required.
 */
const paymentRoutes = ({ one, name, path, record, settle, pay, reverse }: PaymentsDescription): Route[] => [
  commandRoute({
    method: 'post',
    path: `${path}/:id/settle`,
    scope: 'finance:write',
    operation: `settle${name}`,
    summary: `Quita ${one}`,
    description:
      'Paga tudo o que está em aberto: `amount`, se enviado, confere esse valor, que é o da conta enquanto nada foi pago. Uma parte se paga em `/payments`. `paid_at` (ou o momento da chamada) decide a data contábil.',
    idempotency: 'required',
    body: settlement,
    example: settlementExample,
    status: 200,
    reply: singleSchema(record),
    refusals: LOCKED,
    command: settle,
    input: (params, body) => withId(params, body),
  }),
  commandRoute({
    method: 'post',
    path: `${path}/:id/payments`,
    scope: 'finance:write',
    operation: `pay${name}`,
    summary: `Registra um pagamento de ${one}`,
    description:
      '`amount` é a parte da conta que é coberta; recebido ou pago é `amount` + `interest` + `fine` − `discount`. O último centavo quita a conta. Responde com a conta.',
    idempotency: 'required',
    body: accountPayment,
    example: { amount: '50.00', paid_at: '2026-11-20T10:00:00-03:00', payment_method: 'pix' },
    reply: singleSchema(record),
    refusals: LOCKED,
    command: pay,
    input: (params, body) => withId(params, body),
  }),
  commandRoute({
    method: 'post',
    path: `${path}/:id/payments/:payment_id/reverse`,
    scope: 'finance:write',
    operation: `reverse${name}Payment`,
    summary: `Estorna um pagamento de ${one}`,
    description: 'O valor volta a ficar em aberto; uma conta quitada volta a ser pendente.',
    status: 200,
    body: paymentReversal,
    example: { reason: 'Registrado na conta errada' },
    reply: singleSchema(record),
    refusals: ['managed_by_pdv', 'already_reversed'],
    command: reverse,
    input: (params, body) => {
      const payment_id = pathId(params.payment_id)
      return payment_id === null ? null : withId(params, { ...body, payment_id })
    },
  }),
]

export const financeRoutes: readonly Route[] = [
  ...overviewRoutes,
  ...receivables,
  ...paymentRoutes({
    one: 'uma conta a receber',
    name: 'Receivable',
    path: '/finance/receivables',
    record: Receivable,
    settle: settleReceivable,
    pay: payReceivable,
    reverse: reverseReceivablePayment,
  }),
  ...payables,
  ...paymentRoutes({
    one: 'uma conta a pagar',
    name: 'Payable',
    path: '/finance/payables',
    record: Payable,
    settle: settlePayable,
    pay: payPayable,
    reverse: reversePayablePayment,
  }),
]
