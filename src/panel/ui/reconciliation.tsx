import type { ComponentChildren } from 'preact'
import { formatCount, formatMoney } from '#domain/person-values.ts'
import type { Reconciliation, SalesReconciliation, WayReconciliation } from '#queries/sales-sums.ts'
import { Figure } from './page-parts.tsx'
import { type Column, ListTable } from './panel-list.tsx'

export const counted = (count: number, one: string, many: string): string =>
  Math.abs(count) === 1 ? `${count} ${one}` : `${formatCount(count)} ${many}`

/** Name of a way of paying; tills may have named payment types that do not exist. */
export const wayName = ({ key, name }: Pick<WayReconciliation, 'key' | 'name'>): string =>
  key === '' ? 'Sem forma de pagamento' : (name ?? `Forma de pagamento ${key}`)

interface TableProps {
  readonly caption: string
  /** Scope of its figures: `total`, `caixa/user/3`. */
  readonly of: string
  readonly sales: SalesReconciliation
  readonly empty: string
  /** The way's name with a link to its sales; the name alone without it. */
  readonly linked?: (way: WayReconciliation, name: string) => ComponentChildren
}

const isAny = ({ count, amount }: Reconciliation['sold']): boolean => count !== 0 || amount !== '0.00'

type Row = Reconciliation & { readonly head: ComponentChildren; readonly of: string }

/** Sales by way of paying and in all: what was sold, less what was cancelled and returned, is the net (PANEL-420). */
export const ReconciliationTable = ({ caption, of, sales, empty, linked }: TableProps) => {
  const amount = (head: string, name: string, amountOf: (row: Row) => string): Column<Row> => ({
    head,
    cell: (row) => (
      <Figure name={name} of={row.of}>
        {formatMoney(amountOf(row))}
      </Figure>
    ),
    isNumber: true,
  })
  const hasLess = isAny(sales.cancelled) || isAny(sales.returned)
  const ways = sales.ways.map((way) => ({
    ...way,
    head: linked ? linked(way, wayName(way)) : wayName(way),
    of: `${of}/forma/${way.key || 0}`,
  }))
  const rows: Row[] = ways.length === 0 ? [] : [...ways, { ...sales, head: <strong>Total</strong>, of: `${of}/formas` }]
  return (
    <ListTable<Row>
      isList
      caption={caption}
      rows={rows}
      empty={empty}
      columns={[
        { head: 'Forma', cell: ({ head }) => head },
        {
          head: 'Vendas',
          cell: ({ sold, of }) => (
            <Figure name="vendas" of={of}>
              {formatCount(sold.count)}
            </Figure>
          ),
          isNumber: true,
        },
        hasLess && amount('Vendido', 'vendido', ({ sold }) => sold.amount),
        isAny(sales.cancelled) && amount('Cancelado', 'cancelado', ({ cancelled }) => cancelled.amount),
        isAny(sales.returned) && amount('Devolvido', 'devolvido', ({ returned }) => returned.amount),
        amount(hasLess ? 'Líquido' : 'Valor', 'liquido', ({ net }) => net),
      ]}
    />
  )
}

interface LineProps {
  readonly of: string
  readonly sales: Reconciliation
}

/** The same in one line: `9 vendas, R$ 455,66 − 1 cancelada, R$ 132,95 = R$ 322,71`. */
export const ReconciliationLine = ({ of, sales }: LineProps) => {
  const { sold, cancelled, returned, net } = sales
  const amount = (name: string, value: string) => (
    <Figure name={name} of={of}>
      {formatMoney(value)}
    </Figure>
  )
  const count = (name: string, value: number) => (
    <Figure name={name} of={of}>
      {formatCount(value)}
    </Figure>
  )
  const words = (value: number, one: string, many: string) => (Math.abs(value) === 1 ? one : many)
  const hasLess = isAny(cancelled) || isAny(returned)
  return (
    <>
      {count('vendas', sold.count)} {words(sold.count, 'venda', 'vendas')}
      {hasLess && <>, {amount('vendido', sold.amount)}</>}
      {isAny(cancelled) && (
        <>
          {' − '}
          {count('canceladas', cancelled.count)} {words(cancelled.count, 'cancelada', 'canceladas')},{' '}
          {amount('cancelado', cancelled.amount)}
        </>
      )}
      {isAny(returned) && (
        <>
          {' − '}
          {count('devolucoes', returned.count)} {words(returned.count, 'devolução', 'devoluções')},{' '}
          {amount('devolvido', returned.amount)}
        </>
      )}
      {hasLess ? ' = ' : ', '}
      <strong>{amount('liquido', net)}</strong>
    </>
  )
}
