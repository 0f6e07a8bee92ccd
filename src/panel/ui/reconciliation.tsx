import type { ComponentChildren } from 'preact'
import { formatCount, formatMoney } from '#domain/brazilian-format.ts'
import type { Reconciliation, SalesReconciliation, WayReconciliation } from '#queries/sales/reconciliation.ts'
import { type Column, ListTable } from './list-table.tsx'

export const counted = (count: number, one: string, many: string): string =>
  Math.abs(count) === 1 ? `${count} ${one}` : `${formatCount(count)} ${many}`

/** Name of a way of paying; tills may have named payment types that do not exist. */
export const wayName = ({ key, name }: Pick<WayReconciliation, 'key' | 'name'>): string =>
  key === '' ? 'Sem forma de pagamento' : (name ?? `Forma de pagamento ${key}`)

interface TableProps {
  readonly caption: string
  readonly sales: SalesReconciliation
  readonly empty: string
  /** The way's name with a link to its sales; the name alone without it. */
  readonly linked?: (way: WayReconciliation, name: string) => ComponentChildren
}

const isAny = ({ count, amount }: Reconciliation['sold']): boolean => count !== 0 || amount !== '0.00'

type Row = Reconciliation & { readonly head: ComponentChildren }

/** Sales by way of paying and in all: what was sold, less what was cancelled and returned, is the net (PANEL-420). */
export const ReconciliationTable = ({ caption, sales, empty, linked }: TableProps) => {
  const amount = (head: string, of: (row: Row) => string): Column<Row> => ({
    head,
    cell: (row) => formatMoney(of(row)),
    isNumber: true,
  })
  const hasLess = isAny(sales.cancelled) || isAny(sales.returned)
  const ways = sales.ways.map((way) => ({ ...way, head: linked ? linked(way, wayName(way)) : wayName(way) }))
  const rows: Row[] = ways.length === 0 ? [] : [...ways, { ...sales, head: <strong>Total</strong> }]
  return (
    <ListTable<Row>
      caption={caption}
      rows={rows}
      empty={empty}
      columns={[
        { head: 'Forma', cell: ({ head }) => head },
        { head: 'Vendas', cell: ({ sold }) => formatCount(sold.count), isNumber: true },
        hasLess && amount('Vendido', ({ sold }) => sold.amount),
        isAny(sales.cancelled) && amount('Cancelado', ({ cancelled }) => cancelled.amount),
        isAny(sales.returned) && amount('Devolvido', ({ returned }) => returned.amount),
        amount(hasLess ? 'Líquido' : 'Valor', ({ net }) => net),
      ]}
    />
  )
}

/** The same in one line: `9 vendas, R$ 455,66 − 1 cancelada, R$ 132,95 = R$ 322,71`. */
export const ReconciliationLine = ({ sales }: { readonly sales: Reconciliation }) => {
  const { sold, cancelled, returned, net } = sales
  const parts = [
    `${counted(sold.count, 'venda', 'vendas')}, ${formatMoney(sold.amount)}`,
    isAny(cancelled) && `${counted(cancelled.count, 'cancelada', 'canceladas')}, ${formatMoney(cancelled.amount)}`,
    isAny(returned) && `${counted(returned.count, 'devolução', 'devoluções')}, ${formatMoney(returned.amount)}`,
  ].filter((part) => part !== false)
  if (parts.length === 1)
    return (
      <>
        {counted(sold.count, 'venda', 'vendas')}, <strong>{formatMoney(net)}</strong>
      </>
    )
  return (
    <>
      {parts.join(' − ')} = <strong>{formatMoney(net)}</strong>
    </>
  )
}
