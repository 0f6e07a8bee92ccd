import { paymentMethodName } from '#domain/payment-rules.ts'
import { formatDay, formatMoney } from '#domain/person-values.ts'
import { UNMASKED } from '#domain/rights.ts'
import {
  type AccountMoney,
  daysOfMonth,
  listAccountMoney,
  loadMonth,
  PAYMENTS_OF_PAGE,
} from '#queries/finance-summary.ts'
import { MONTH_FILE_PATH } from '../month-file.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute } from '../panel-route.ts'
import { ListTable } from '../ui/list-table.tsx'
import { Chips } from '../ui/page-parts.tsx'
import { findLink, SharedLinkCard, sharedLinkForms } from '../ui/shared-link.tsx'
import { formatMonth, type HrefOf, MonthReport, monthBefore } from './month-report.tsx'
import { REFUSED_SALES_PATH } from './refused-sale-pages.tsx'

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
      case 'gavetas':
        return link('/caixas/sessoes')
      case 'recusadas':
        return link(REFUSED_SALES_PATH)
      case 'catalogo':
        return link('/catalogo')
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
  const { session, readModel } = visit
  const shared = { kind: 'company', id: readModel.companyId, month: month.month } as const
  const path = `${MONTH_PATH}/${month.month}`
  const body = (
    <>
      <Months current={monthOf(visit)} shown={month.month} />
      <MonthReport month={month} hrefOf={hrefIn(month.month)} timezone={readModel.timezone} now={session.now} />
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
export const AccountMoneyTable = ({ rows, hrefOf }: MoneyProps) => (
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
