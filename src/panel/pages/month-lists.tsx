import { SHARED } from '#access/shared-links.ts'
import { CalendarDate } from '#domain/instant.ts'
import { formatDateTime, formatMoney } from '#domain/person-values.ts'
import { Id } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import type { SaleObject } from '#projections/sales.ts'
import { type ClosedMonth, listAccountMoney } from '#queries/finance-summary.ts'
import type { Reader } from '#queries/reader.ts'
import type { Page } from '#queries/record-queries.ts'
import { type GivenBack, listGivenBack } from '#queries/return-queries.ts'
import { listLatestSales } from '#queries/sale-queries.ts'
import { FISCAL_STATES } from '#records/list-filters.ts'
import { ListTable } from '../ui/list-table.tsx'
import { recordsOnPage } from '../ui/panel-list.tsx'
import { AccountMoneyTable } from './month-pages.tsx'
import { SaleBadge } from './sale-list.tsx'

interface RowsProps {
  readonly reader: Reader
  readonly month: ClosedMonth
  readonly list: string
  readonly token: string
  readonly link: { readonly timezone: string }
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

const Next = ({ page, list, token, query }: RowsProps & { readonly page: Page | object }) => {
  const next = isRefusal(page) ? null : (page as Page).next
  return next === null ? null : (
    <p>
      <a href={`${SHARED}/${token}/${list}?${new URLSearchParams({ ...query, cursor: next })}`}>Anteriores</a>
    </p>
  )
}
