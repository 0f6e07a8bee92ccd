import * as z from 'zod'
import {
  CreatePayableInput,
  CreateReceivableInput,
  createPayable,
  createReceivable,
  deletePayable,
  deleteReceivable,
  PayableChanges,
  payPayables,
  payReceivables,
  ReceivableChanges,
  reversePayablePayment,
  reverseReceivablePayment,
  updatePayable,
  updateReceivable,
} from '#commands/receivables-payables.ts'
import { addDays, CalendarDate } from '#domain/instant.ts'
import { paymentMethodName } from '#domain/payment-rules.ts'
import {
  formatDateTime,
  formatDateTimeSeconds,
  formatDay,
  formatMoney,
  formatPersonName,
} from '#domain/person-values.ts'
import { boundedText } from '#domain/text.ts'
import type { CustomerOfReceivable, SupplierOfPayable } from '#projections/finance.ts'
import {
  type AccountListing,
  getAccount,
  payableListing,
  receivableListing,
  searchAccounts,
  sumAccounts,
} from '#queries/account-queries.ts'
import { supplierListing } from '#queries/person-queries.ts'
import { offersApproval } from '../approval.ts'
import { amountCell, type FileColumn, metadataCell } from '../csv-files.ts'
import {
  amountInput,
  choiceInput,
  dateInput,
  integerInput,
  lineInput,
  namedOptions,
  optionsOf,
} from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link, permissionsFor } from '../page-context.ts'
import type { PageContext, PanelRoute } from '../panel-route.ts'
import { type Column, type ListRequest, listFiltered, type QuickFilter } from '../ui/panel-list.tsx'
import { type RecordPages, recordPages } from '../ui/record-pages.tsx'
import {
  ACCOUNT_ORIGIN_NAMES,
  type Account,
  AccountBadge,
  type AccountPages,
  AccountSumsCard,
  accountStateOf,
} from './account-parts.tsx'
import { ACQUIRERS_PATH, acquirersPage } from './acquirer-pages.tsx'
import { debtorPages, PAYABLE, RECEIVABLE, SEARCHED_CUSTOMER } from './debtor-pages.tsx'
import type { PaymentWords } from './payment-form.tsx'
import { InstallmentsCard, installmentText, PaymentsCard, receiptPages, reversalPages } from './payment-pages.tsx'
import { partyField } from './person-form.tsx'
import { settlementPages, settleSeveralPages } from './settle-pages.tsx'

/** Pending accounts are listed by default. */
const viewsOf = ({ done }: PaymentWords) => ({ overdue: 'Vencidas', settled: `${done}s`, all: 'Todas' })

const filtersOf = (party: string, words: PaymentWords): Fields => ({
  view: { label: 'Situação', kind: choiceInput(namedOptions(viewsOf(words)), 'Pendentes'), columns: 3 },
  due_from: { label: 'Vencimento de', kind: dateInput, columns: 3 },
  due_to: { label: 'Vencimento até', kind: dateInput, columns: 3 },
  party_name: { label: party, kind: lineInput, columns: 3 },
})

const Search = z.object({
  view: z.enum(['overdue', 'settled', 'all']).optional(),
  due_from: CalendarDate.optional(),
  due_to: CalendarDate.optional(),
  party_name: boundedText(120).optional(),
  cursor: z.string().optional(),
})

/** Null if the account has no party. */
const partyName = ({ id, name }: { readonly id: number | null; readonly name: string | null }): string | null =>
  id === null ? name : formatPersonName(name)

const columnsOf = <P,>({ path, party }: AccountPages<P>): Column<Account<P>>[] => [
  { head: 'Descrição', cell: ({ id, description }) => <a href={link(`${path}/${id}`)}>{description}</a> },
  { head: 'Vencimento', cell: ({ due_date }) => formatDay(due_date) },
  { head: party.label, cell: (account) => partyName(party.of(account)) },
  { head: 'Valor', cell: (account) => formatMoney(account.amount), isNumber: true },
  { head: 'Em aberto', cell: ({ open_amount }) => formatMoney(open_amount), isNumber: true, isExtra: true },
  { head: 'Situação', cell: (account) => <AccountBadge account={account} /> },
]

type QueryValues = Readonly<Record<string, string>>

const pageOf = (listing: AccountListing, { readModel }: PageContext, asked: QueryValues, { limit }: ListRequest) =>
  listFiltered(Search, asked, (search) => {
    const { reader, today } = readModel
    return searchAccounts(reader, listing, { ...search, limit }, today)
  })

async function summaryOf(listing: AccountListing, { readModel }: PageContext, asked: QueryValues) {
  const { reader, today } = readModel
  const { cursor: _, ...search } = Search.parse(asked)
  return <AccountSumsCard sums={await sumAccounts(reader, listing, search, today)} />
}

/** The most frequent views. */
const quickOf = (today: string, { done }: PaymentWords): QuickFilter[] => [
  { label: 'Vencidas', filters: { view: 'overdue' } },
  { label: 'Vencem em 7 dias', filters: { due_from: today, due_to: addDays(today, 6) } },
  { label: `${done}s`, filters: { view: 'settled' } },
  { label: 'Todas', filters: { view: 'all' } },
]

const fileOf =
  <P,>({ party, payment }: AccountPages<P>) =>
  ({ readModel: { timezone } }: PageContext): FileColumn<Account<P>>[] => [
    ['Número', ({ id }) => id],
    ['Descrição', ({ description }) => description],
    [party.label, (account) => partyName(party.of(account))],
    ['Vencimento', ({ due_date }) => formatDay(due_date)],
    ['Valor', ({ amount }) => amountCell(amount)],
    ['Pago', ({ paid_amount }) => amountCell(paid_amount)],
    ['Em aberto', ({ open_amount }) => amountCell(open_amount)],
    ['Parcela', ({ installment }) => installmentText(installment)],
    ['Situação', (account) => accountStateOf(account)[1]],
    [`${payment.done} em`, ({ paid_at }) => paid_at && formatDateTimeSeconds(paid_at, timezone)],
    ['Data contábil', ({ settled_on }) => settled_on && formatDay(settled_on)],
    ['Forma de pagamento', ({ payment_method }) => payment_method && paymentMethodName(payment_method)],
    ['Origem', ({ origin }) => ACCOUNT_ORIGIN_NAMES[origin]],
    ['Venda', ({ sale_id }) => sale_id],
    ['Código externo', ({ external_id }) => external_id],
    ['Metadados', metadataCell],
  ]

const fieldsOf = async <P,>(
  { path, party }: AccountPages<P>,
  visit: PageContext,
  account?: Account<P>,
): Promise<Fields> => ({
  description: { label: 'Descrição', kind: lineInput, isRequired: true, columns: 6 },
  [party.field]: await partyField(visit, party, {
    path: account ? `${path}/${account.id}/editar` : `${path}/novo`,
    current: account && party.of(account).name,
  }),
  amount: { label: 'Valor (R$)', kind: amountInput, isRequired: true, columns: 4 },
  due_date: { label: 'Vencimento', kind: dateInput, isRequired: true, columns: 4 },
  external_id: {
    label: 'Código externo',
    kind: lineInput,
    columns: 4,
    hint: 'Código desta conta em outro sistema (opcional).',
  },
  // Instalments are accounts of their own: an account that exists is not split.
  ...(account === undefined && INSTALLMENT_FIELDS),
})

/** Days between instalments that are not due every month. */
const INTERVALS = ['7', '10', '14', '15', '28', '30']

const FOLD = 'Parcelar'

const INSTALLMENT_FIELDS: Fields = {
  'installments.count': {
    label: 'Parcelas',
    kind: integerInput,
    columns: 4,
    fold: FOLD,
    hint: 'O valor é dividido; a primeira vence na data acima.',
  },
  'installments.interval': {
    label: 'Intervalo',
    kind: {
      ...choiceInput(
        optionsOf(INTERVALS, (days) => `A cada ${days} dias`),
        'Todo mês',
      ),
      read: integerInput.read,
    },
    columns: 4,
    fold: FOLD,
  },
}

/** Instalments of the form are due from the account's due date on, every month unless days are chosen. */
const withInstallments = (schema: z.ZodType): z.ZodType =>
  z.preprocess((input) => {
    const { installments, ...account } = input as { installments?: object | null; due_date?: unknown }
    if (!installments) return account
    const { count, interval } = installments as { count: unknown; interval: unknown }
    return { ...account, installments: { count, interval: interval ?? 'month', first_due_date: account.due_date } }
  }, schema)

/** A deleted party has a page too; the account keeps its name. */
const factsOf = <P,>(
  { party, payment }: AccountPages<P>,
  account: Account<P>,
  { readModel }: PageContext,
): ReturnType<RecordPages<Account<P>>['facts']> => {
  const { id, name } = party.of(account)
  return [
    ['Situação', <AccountBadge key="status" account={account} />],
    ['Valor', formatMoney(account.amount)],
    ['Pago', formatMoney(account.paid_amount)],
    ['Em aberto', formatMoney(account.open_amount)],
    ['Vencimento', formatDay(account.due_date)],
    [party.label, id === null ? name : <a href={link(`${party.path}/${id}`)}>{formatPersonName(name)}</a>],
    ['Parcela', installmentText(account.installment)],
    ['Origem', originOf(account)],
    ['Código externo', account.external_id],
    [`${payment.done} em`, account.paid_at && formatDateTime(account.paid_at, readModel.timezone)],
    ['Data contábil', account.settled_on && formatDay(account.settled_on)],
    ['Forma de pagamento', account.payment_method && paymentMethodName(account.payment_method)],
    ['Lançamento', formatDateTime(account.created_at, readModel.timezone)],
    ['Última alteração', formatDateTime(account.updated_at, readModel.timezone)],
  ]
}

function originOf({ origin, sale_id }: Account) {
  if (sale_id === null) return ACCOUNT_ORIGIN_NAMES[origin]
  return <a href={link(`/vendas/${sale_id}`)}>{`Venda ${sale_id}`}</a>
}

const isPending = ({ status }: Account): boolean => status === 'pending'

/** Pages of receivables or payables. Unlike in the API, accounts of sales can be changed here. */
function accountPages<P>(side: AccountPages<P>): PanelRoute[] {
  const { path, section, subject, all, listing, editing } = side
  // Of what a customer owes less.
  const needsApproval = (_account: Account<P>, visit: PageContext) =>
    section === 'receivables' && offersApproval(visit, 'give_discount')
  const pages: RecordPages<Account<P>> = {
    path,
    section,
    editing,
    subject,
    words: { all, create: 'Nova conta', none: 'Nenhuma conta encontrada.' },
    list: {
      filters: filtersOf(side.party.label, side.payment),
      columns: columnsOf(side),
      page: (visit, asked, wanted) => pageOf(listing, visit, asked, wanted),
      summary: (visit, asked) => summaryOf(listing, visit, asked),
      quick: ({ readModel }) => quickOf(readModel.today, side.payment),
      file: fileOf(side),
      more: [{ label: side.byParty, to: `${path}/em-aberto` }, ...(side.more ?? [])],
    },
    get: ({ readModel }, id) => getAccount(readModel.reader, listing, id, readModel.today),
    nameOf: ({ description }) => description,
    facts: (account, visit) => factsOf(side, account, visit),
    isOpen: isPending,
    more: async (account, visit) => (
      <>
        <PaymentsCard account={account} path={path} visit={visit} />
        {await InstallmentsCard({ account, path, visit, listing })}
      </>
    ),
    head: (account) => ({
      main: isPending(account) && { label: side.payment.act, to: `${path}/${account.id}/liquidar` },
    }),
    fields: (visit, account) => fieldsOf(side, visit, account),
    create: { ...side.create, flash: 'conta-criada' },
    update: { label: 'Editar', ...side.update, needsApproval },
    remove: {
      label: 'Excluir',
      access: section === 'payables' ? 'edit_payables' : 'delete_receivables',
      question: 'A conta deixa de aparecer nas listas e nas somas. Se veio de uma venda, a venda fica como está.',
      command: side.remove,
      flash: 'conta-excluida',
      needsApproval,
    },
  }
  return [
    ...recordPages(pages),
    ...settlementPages(pages, side.pay, side.payment),
    ...reversalPages(pages, pages.section === 'payables' ? 'settle' : 'receive', side.reverse),
  ]
}

const receivablePages = accountPages<CustomerOfReceivable>({
  path: '/contas-a-receber',
  section: 'receivables',
  editing: 'edit_receivables',
  subject: 'receivable',
  all: 'Contas a receber',
  byParty: RECEIVABLE.words.all,
  more: [{ label: 'A receber das operadoras', to: ACQUIRERS_PATH }],
  listing: receivableListing,
  party: {
    ...SEARCHED_CUSTOMER,
    of: ({ customer_id, customer_name }) => ({ id: customer_id, name: customer_name }),
  },
  create: { schema: withInstallments(CreateReceivableInput), command: createReceivable },
  update: { schema: ReceivableChanges, command: updateReceivable },
  remove: deleteReceivable,
  pay: payReceivables,
  reverse: reverseReceivablePayment,
  payment: RECEIVABLE.words.payment,
})

const payablePages = accountPages<SupplierOfPayable>({
  path: '/contas-a-pagar',
  section: 'payables',
  editing: 'edit_payables',
  subject: 'payable',
  all: 'Contas a pagar',
  byParty: PAYABLE.words.all,
  listing: payableListing,
  party: {
    label: 'Fornecedor',
    path: '/fornecedores',
    table: 'suppliers',
    listing: supplierListing,
    owed: { side: PAYABLE.side, path: PAYABLE.accounts, verb: 'a pagar' },
    field: 'supplier_id',
    of: ({ supplier_id, supplier_name }) => ({ id: supplier_id, name: supplier_name }),
  },
  create: { schema: withInstallments(CreatePayableInput), command: createPayable },
  update: { schema: PayableChanges, command: updatePayable },
  remove: deletePayable,
  pay: payPayables,
  reverse: reversePayablePayment,
  payment: PAYABLE.words.payment,
})

export const financePages: readonly PanelRoute[] = [
  ...receivablePages,
  ...payablePages,
  ...debtorPages,
  ...receiptPages,
  acquirersPage,
  ...settleSeveralPages,
].map(
  (page): PanelRoute =>
    page.section === 'payables' ? { ...page, access: ['see_payables', ...permissionsFor(page)] } : page,
)
