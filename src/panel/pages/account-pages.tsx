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
import { addDays } from '#domain/instant.ts'
import { formatDateTime, formatDateTimeSeconds, formatPersonName } from '#domain/person-values.ts'
import type { CustomerOfReceivable, SupplierOfPayable } from '#projections/finance.ts'
import {
  type AccountListing,
  getAccount,
  payableListing,
  receivableListing,
  searchAccounts,
  sumAccounts,
} from '#queries/account-queries.ts'
import { ACCOUNT_FIELDS, ACCOUNT_SEARCH, ACCOUNT_STATE } from '#records/accounts.ts'
import { wholeShape } from '#records/field.ts'
import type { FileColumn } from '../csv-files.ts'
import { choiceInput, dateInput, integerInput, namedOptions, toOptions } from '../forms/input-kinds.ts'
import type { Fields } from '../forms/panel-form.ts'
import { link, permissionsFor } from '../page-context.ts'
import type { PageContext, PanelRoute } from '../panel-route.ts'
import { fieldColumns, fieldFacts, fieldInput, fieldInputs, fieldText, fileColumns } from '../record-fields.ts'
import { offersApproval } from '../ui/form-pages.tsx'
import { SaleLink } from '../ui/page-parts.tsx'
import { type ListRequest, listFiltered, type QuickFilter } from '../ui/panel-list.tsx'
import { type RecordPages, recordPages } from '../ui/record-pages.tsx'
import { type Account, AccountBadge, type AccountPages, AccountSumsCard, toAccountState } from './account-parts.tsx'
import { ACQUIRERS_PATH, acquirersPage } from './acquirer-pages.tsx'
import { debtorPages, PAYABLE, RECEIVABLE, SEARCHED_CUSTOMER, SEARCHED_SUPPLIER } from './debtor-pages.tsx'
import type { PaymentWords } from './payment-form.tsx'
import { InstallmentsCard, installmentText, PaymentsCard, receiptPages, reversalPages } from './payment-pages.tsx'
import { partyField } from './person-form.tsx'
import { settlementPages, settleSeveralPages } from './settle-pages.tsx'

/** Pending accounts are listed by default. */
const viewsOf = ({ done }: PaymentWords) => ({ overdue: 'Vencidas', settled: `${done}s`, all: 'Todas' })

const accounts = { ...ACCOUNT_FIELDS, ...ACCOUNT_STATE }

const filtersOf = (party: string, words: PaymentWords): Fields => ({
  view: fieldInput(ACCOUNT_SEARCH.view, { kind: choiceInput(namedOptions(viewsOf(words)), 'Pendentes'), columns: 3 }),
  due_from: fieldInput(ACCOUNT_SEARCH.due_from, 3),
  due_to: fieldInput(ACCOUNT_SEARCH.due_to, 3),
  party_name: fieldInput(ACCOUNT_SEARCH.party_name, { label: party, columns: 3 }),
})

const Search = z.object({ ...wholeShape(ACCOUNT_SEARCH), cursor: z.string().optional() })

/** Null if the account has no party. */
const partyName = ({ id, name }: { readonly id: number | null; readonly name: string | null }): string | null =>
  id === null ? name : formatPersonName(name)

const columnsOf =
  <P,>({ path, party }: AccountPages<P>) =>
  ({ readModel }: PageContext) =>
    fieldColumns<Account<P>, typeof accounts>(accounts, readModel.timezone, [
      { field: 'description', cell: ({ id, description }) => <a href={link(`${path}/${id}`)}>{description}</a> },
      'due_date',
      { head: party.label, cell: (account) => partyName(party.of(account)) },
      'amount',
      { field: 'open_amount', isExtra: true },
      { field: 'status', cell: (account) => <AccountBadge account={account} /> },
    ])

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
  ({ readModel: { timezone } }: PageContext): FileColumn<Account<P>>[] =>
    fileColumns(accounts, timezone, [
      ['Número', ({ id }: Account<P>) => id],
      'description',
      [party.label, (account: Account<P>) => partyName(party.of(account))],
      'due_date',
      'amount',
      'paid_amount',
      'open_amount',
      ['installment', ({ installment }: Account<P>) => installmentText(installment)],
      ['status', (account: Account<P>) => toAccountState(account)[1]],
      [`${payment.done} em`, ({ paid_at }: Account<P>) => paid_at && formatDateTimeSeconds(paid_at, timezone)],
      'settled_on',
      'payment_method',
      'origin',
      'sale_id',
      'external_id',
      'metadata',
    ])

const fieldsOf = async <P,>(
  { path, party }: AccountPages<P>,
  visit: PageContext,
  account?: Account<P>,
): Promise<Fields> => {
  const { description, ...others } = fieldInputs(ACCOUNT_FIELDS, {
    description: 6,
    amount: 4,
    due_date: 4,
    external_id: 4,
  })
  return {
    description,
    [party.field]: await partyField(visit, party, {
      path: account ? `${path}/${account.id}/editar` : `${path}/novo`,
      current: account && party.of(account).name,
    }),
    ...others,
    // Instalments are accounts of their own: an account that exists is not split.
    ...(account === undefined && INSTALLMENT_FIELDS),
  }
}

/** Days between instalments that are not due every month. */
const INTERVALS = ['7', '10', '14', '15', '28', '30']

const FOLD = 'Parcelar ou repetir'

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
        toOptions(INTERVALS, (days) => `A cada ${days} dias`),
        'Todo mês',
      ),
      read: integerInput.read,
    },
    columns: 4,
    fold: FOLD,
  },
  repeat_until: {
    label: 'Repetir todo mês até',
    kind: dateInput,
    columns: 4,
    fold: FOLD,
    hint: 'Uma conta deste valor por mês, como um aluguel. Dia 31 cai no último dia do mês.',
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
  const { timezone } = readModel
  return fieldFacts(accounts, account, timezone, [
    ['status', <AccountBadge key="status" account={account} />],
    'amount',
    'paid_amount',
    'open_amount',
    'due_date',
    [party.label, id === null ? name : <a href={link(`${party.path}/${id}`)}>{formatPersonName(name)}</a>],
    ['installment', installmentText(account.installment)],
    ['origin', originOf(account)],
    'external_id',
    [`${payment.done} em`, account.paid_at && formatDateTime(account.paid_at, timezone)],
    'settled_on',
    'payment_method',
    'created_at',
    'updated_at',
  ])
}

function originOf({ origin, sale_id }: Account) {
  if (sale_id === null) return fieldText(accounts.origin, origin, '')
  return <SaleLink id={sale_id} />
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
    words: {
      all,
      create: 'Nova conta',
      none: 'Nenhuma conta encontrada.',
      begin: ['Nenhuma conta ainda', 'Aqui ficam as contas com o vencimento, o que já foi pago e o que falta.'],
    },
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
      more: [
        section === 'receivables' && isPending(account) && { label: 'Cobrar', to: `${path}/${account.id}/cobrar` },
      ],
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
    ...SEARCHED_SUPPLIER,
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
