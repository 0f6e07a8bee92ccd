import { SHARED } from '#access/shared-links.ts'
import { addDays, type Calendar, CalendarDate, startOfDay } from '#domain/instant.ts'
import { paymentMethodName } from '#domain/payment-rules.ts'
import { formatDateTime, formatDay, formatMoney } from '#domain/person-values.ts'
import { UNMASKED } from '#domain/rights.ts'
import { Id } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import type { CashSessionObject } from '#projections/cash-sessions.ts'
import type { AccountObject } from '#projections/finance.ts'
import type { SaleObject } from '#projections/sales.ts'
import { listAccounts, payableListing, receivableListing } from '#queries/account-queries.ts'
import { listLatestCashSessions } from '#queries/cash-queries.ts'
import {
  type AccountMoney,
  type ClosedMonth,
  daysOfMonth,
  listAccountMoney,
  loadMonth,
  PAYMENTS_OF_PAGE,
} from '#queries/finance-summary.ts'
import type { Reader } from '#queries/reader.ts'
import type { Page } from '#queries/record-queries.ts'
import { type GivenBack, listGivenBack } from '#queries/return-queries.ts'
import { listLatestSales } from '#queries/sale-queries.ts'
import { FISCAL_STATES } from '#records/list-filters.ts'
import { loadMonthStock, MONTH_FILE_PATH } from '../month-file.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { ListTable } from '../ui/list-table.tsx'
import { Chips } from '../ui/page-parts.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { findLink, SharedLinkCard, sharedLinkForms } from '../ui/shared-link.tsx'
import { formatMonth, type HrefOf, MonthReport, monthBefore } from './month-report.tsx'
import { REFUSED_SALES_PATH } from './refused-sale-pages.tsx'
import { SaleBadge } from './sale-list.tsx'

export const MONTH_PATH = '/fechamento-do-mes'

const monthOf = ({ readModel: { today } }: PageContext): string => today.slice(0, 7)

/** Lists of the panel; payments by their day have one of the month's own. */
const hrefIn =
  (month: string): HrefOf =>
  (list, parameters) => {
    switch (list) {
      case 'vendas':
      case 'devolucoes':
        return link(`/${list}`, parameters)
      case 'a-receber':
      case 'a-pagar':
        return link(`/contas-${list}`, parameters)
      case 'gavetas':
        return link('/caixas/sessoes')
      case 'recusadas':
        return link(REFUSED_SALES_PATH)
      case 'catalogo':
        return link('/catalogo', parameters)
      default:
        return link(`${MONTH_PATH}/${month}/${list}`)
    }
  }

/** The month of the path, of the form, or the last one that is over. */
function askedMonth(visit: PageContext): string {
  const { params, query, readModel } = visit
  if (params.mes !== undefined) return params.mes
  const isMonth = daysOfMonth(query.mes, readModel.today) !== null
  return isMonth ? (query.mes as string) : monthBefore(monthOf(visit))
}

async function show(visit: PageContext): Promise<PanelPage | null> {
  const month = await loadMonth(visit.readModel.reader, askedMonth(visit), visit.readModel)
  if (!month) return null
  const { session, readModel, context } = visit
  const { reader, timezone } = readModel
  const stock = await loadMonthStock(context.reads, { reader, month, timezone })
  const shared = { kind: 'company', id: readModel.companyId, month: month.month } as const
  const path = `${MONTH_PATH}/${month.month}`
  const body = (
    <>
      <Months current={monthOf(visit)} shown={month.month} />
      <MonthReport {...{ month, stock, timezone }} hrefOf={hrefIn(month.month)} now={session.now} />
      <SharedLinkCard
        visit={visit}
        link={await findLink(visit, shared)}
        to={path}
        title="Link para o contador"
        hint="Vale 30 dias e só mostra este mês, sem nomes de pessoas. Quem tiver o link vê custos e contas da empresa."
        message={`Fechamento de ${formatMonth(month.month)} da ${session.companyName}:`}
      />
    </>
  )
  return {
    title: `Fechamento de ${formatMonth(month.month)}`,
    main: { label: 'Imprimir', to: path, prints: true },
    more: [{ label: 'Arquivos (ZIP)', to: MONTH_FILE_PATH.replace(':mes', month.month) }],
    body,
  }
}

const Months = ({ current, shown }: { readonly current: string; readonly shown: string }) => {
  const before = monthBefore(current)
  return (
    <div class="toolbar">
      <Chips
        label="Mês"
        chips={[
          { label: 'Mês passado', to: `${MONTH_PATH}/${before}`, isCurrent: shown === before },
          { label: 'Este mês', to: `${MONTH_PATH}/${current}`, isCurrent: shown === current },
        ]}
      />
      <form method="get" action={link(MONTH_PATH)} class="range">
        <label for="mes">Outro mês</label>
        <input id="mes" name="mes" type="month" max={current} value={shown} />
        <button type="submit">Ver</button>
      </form>
    </div>
  )
}

interface MoneyProps {
  readonly rows: readonly AccountMoney[]
  /** Address of an account; null if the reader has none. */
  hrefOf(id: number): string | null
}

/** Payments of accounts in a month. */
const AccountMoneyTable = ({ rows, hrefOf }: MoneyProps) => (
  <>
    <ListTable
      isList
      caption="Pagamentos de contas"
      rows={rows}
      empty="Nenhum pagamento."
      columns={[
        {
          head: 'Conta',
          cell: ({ account_id, description }) => {
            const href = hrefOf(account_id)
            return href === null ? description : <a href={href}>{description}</a>
          },
        },
        { head: 'Dia', cell: ({ paid_on }) => formatDay(paid_on) },
        { head: 'Forma', cell: ({ payment_method: method }) => method && paymentMethodName(method), isExtra: true },
        { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
      ]}
    />
    {rows.length === PAYMENTS_OF_PAGE && (
      <p class="hint">{`Os primeiros ${PAYMENTS_OF_PAGE}; os arquivos têm todos.`}</p>
    )}
  </>
)

const moneyPage = (list: 'recebimentos' | 'pagamentos'): PanelRoute => ({
  path: `${MONTH_PATH}/:mes/${list}`,
  section: 'month',
  access: UNMASKED,
  async show(visit) {
    const { mes = '' } = visit.params
    const days = daysOfMonth(mes, visit.readModel.today)
    if (!days) return null
    const side = list === 'recebimentos' ? 'receivables' : 'payables'
    const accounts = side === 'receivables' ? '/contas-a-receber' : '/contas-a-pagar'
    const rows = await listAccountMoney(visit.readModel.reader, side, days)
    return {
      title: `${side === 'receivables' ? 'Contas recebidas' : 'Contas pagas'} em ${formatMonth(mes)}`,
      parent: { label: `Fechamento de ${formatMonth(mes)}`, to: `${MONTH_PATH}/${mes}` },
      body: <AccountMoneyTable rows={rows} hrefOf={(id) => link(`${accounts}/${id}`)} />,
    }
  },
})

export const monthPages: readonly PanelRoute[] = [
  { path: MONTH_PATH, section: 'month', access: UNMASKED, show },
  { path: `${MONTH_PATH}/:mes`, section: 'month', access: UNMASKED, show },
  moneyPage('recebimentos'),
  moneyPage('pagamentos'),
  ...sharedLinkForms<{ readonly month: string; readonly companyId: number }>({
    path: `${MONTH_PATH}/:mes`,
    section: 'month',
    access: UNMASKED,
    subject: ({ params: { mes = '' }, readModel: { today, companyId } }) =>
      daysOfMonth(mes, today) && { month: mes, companyId },
    sharedOf: ({ month, companyId }) => ({ kind: 'company', id: companyId, month }),
    pageOf: ({ month }) => `${MONTH_PATH}/${month}`,
  }),
]

interface RowsProps {
  readonly reader: Reader
  readonly month: ClosedMonth
  readonly list: string
  readonly token: string
  readonly link: Calendar
  readonly query: Readonly<Record<string, string>>
}

const OF_A_PAGE = 200

/** Days of the query within the month: a link opens no other. */
function daysIn({ month: { from, to }, query }: RowsProps, first: string, last: string) {
  const inMonth = (text: string | undefined, other: string) => {
    const day = CalendarDate.safeParse(text).data
    return day !== undefined && from <= day && day <= to ? day : other
  }
  return { from: inMonth(query[first], from), to: inMonth(query[last], to) }
}

/** The records of a figure of a month, for whom its link was given. */
export async function MonthRows(props: RowsProps) {
  const { reader, month, list } = props
  if (list === 'vendas') return SalesOfMonth(props)
  if (list === 'devolucoes') return ReturnsOfMonth(props)
  if (list === 'gavetas') return DrawersOfMonth(props)
  if (list === 'a-receber' || list === 'a-pagar') return DuesOfMonth(props)
  const side = list === 'recebimentos' ? 'receivables' : 'payables'
  return <AccountMoneyTable rows={await listAccountMoney(reader, side, month)} hrefOf={() => null} />
}

async function SalesOfMonth(props: RowsProps) {
  const { reader, query, token, link } = props
  const { from, to } = daysIn(props, 'sold_from', 'sold_to')
  const fiscal = FISCAL_STATES.find((state) => state === query.fiscal)
  const way = Id.safeParse(Number(query.payment_type_id)).data
  const page = await listLatestSales(reader, {
    ...{ limit: OF_A_PAGE, timezone: link.timezone, sold_from: from, sold_to: to, isWhole: true },
    ...(fiscal && { fiscal }),
    ...(way !== undefined && { payment_type_id: way }),
    ...(query.cursor && { cursor: query.cursor }),
  })
  return (
    <>
      <ListTable
        isList
        caption="Vendas"
        rows={recordsOnPage<SaleObject>(page)}
        empty="Nenhuma venda."
        columns={[
          { head: 'Venda', cell: ({ id }) => <a href={`${SHARED}/${token}/prova/${id}`}>{id}</a> },
          { head: 'Quando', cell: ({ sold_at }) => formatDateTime(sold_at, link.timezone) },
          { head: 'Situação', cell: ({ status }) => <SaleBadge status={status} />, isExtra: true },
          { head: 'Documento', cell: ({ fiscal_document: of }) => of?.access_key ?? of?.number, isExtra: true },
          { head: 'Total', cell: ({ total }) => formatMoney(total), isNumber: true },
        ]}
      />
      <p class="hint">O número leva à prova da venda no registro de auditoria.</p>
      <Next page={page} {...props} />
    </>
  )
}

async function ReturnsOfMonth(props: RowsProps) {
  const { reader, query, link } = props
  const days = daysIn(props, 'returned_from', 'returned_to')
  const page = await listGivenBack(reader, {
    ...{ limit: OF_A_PAGE, timezone: link.timezone, returned_from: days.from, returned_to: days.to },
    ...(query.cursor && { cursor: query.cursor }),
  })
  return (
    <>
      <ListTable
        isList
        caption="Devoluções"
        rows={recordsOnPage<GivenBack>(page)}
        empty="Nenhuma devolução."
        columns={[
          { head: 'Venda', cell: ({ sale_id }) => sale_id },
          {
            head: 'Quando',
            cell: ({ returned_at }) => formatDateTime(new Date(returned_at).toISOString(), link.timezone),
          },
          { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
        ]}
      />
      <Next page={page} {...props} />
    </>
  )
}

/** Drawers that were opened in the month, without their owners. */
async function DrawersOfMonth(props: RowsProps) {
  const { reader, month, link, query } = props
  const page = await listLatestCashSessions(reader, {
    ...{ limit: OF_A_PAGE, begun_from: startOfDay(month.from, link.timezone) },
    begun_before: startOfDay(addDays(month.to, 1), link.timezone),
    ...(query.cursor && { cursor: query.cursor }),
  })
  return (
    <>
      <ListTable
        isList
        caption="Gavetas"
        rows={recordsOnPage<CashSessionObject>(page)}
        empty="Nenhuma gaveta."
        columns={[
          { head: 'Gaveta', cell: ({ id }) => id },
          { head: 'Aberta em', cell: ({ opened_at: at }) => at && formatDateTime(at, link.timezone) },
          { head: 'Esperado', cell: ({ expected }) => formatMoney(expected), isNumber: true },
          {
            head: 'Contado',
            cell: ({ counted }) => (counted === null ? 'Sem contagem' : formatMoney(counted)),
            isNumber: true,
          },
          { head: 'Diferença', cell: ({ difference: of }) => of && formatMoney(of), isNumber: true },
        ]}
      />
      <Next page={page} {...props} />
    </>
  )
}

/** What is open of accounts that fall due in the month. */
async function DuesOfMonth(props: RowsProps) {
  const { reader, month, list, link, query } = props
  const listing = list === 'a-receber' ? receivableListing : payableListing
  const due = { status: 'pending' as const, due_from: month.from, due_to: month.to }
  const asked = { ...due, limit: OF_A_PAGE, ...(query.cursor && { cursor: query.cursor }) }
  const page = await listAccounts(reader, listing, asked, link.today)
  return (
    <>
      <ListTable
        isList
        caption="Contas"
        rows={recordsOnPage<AccountObject<object>>(page)}
        empty="Nenhuma conta."
        columns={[
          { head: 'Conta', cell: ({ description }) => description },
          { head: 'Vencimento', cell: ({ due_date }) => formatDay(due_date) },
          { head: 'Em aberto', cell: ({ open_amount }) => formatMoney(open_amount), isNumber: true },
        ]}
      />
      <Next page={page} {...props} />
    </>
  )
}

const Next = ({ page, list, token, query }: RowsProps & { readonly page: Page | object }) => {
  const next = isRefusal(page) ? null : (page as Page).next
  return next === null ? null : (
    <p>
      <a href={`${SHARED}/${token}/${list}?${new URLSearchParams({ ...query, cursor: next })}`}>Anteriores</a>
    </p>
  )
}
