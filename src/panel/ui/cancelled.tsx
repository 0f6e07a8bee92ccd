import { formatMoney, formatPersonName, formatQuantity } from '../format.ts'
import { ListTable } from './list.tsx'
import { Card, Facts } from './parts.tsx'

interface CancelledProps {
  /** With their name and the time that matters. */
  readonly when: readonly [name: string, time: string]
  readonly of: {
    readonly customer: { readonly name: string | null } | null
    readonly items: readonly { readonly description: string; readonly quantity: string; readonly total: string }[]
    readonly total: string
  }
}

/** Whoever cancels the wrong sale or order sees it here, before it cannot be undone (PANEL-111). */
export const Cancelled = ({ when, of: { customer, items, total } }: CancelledProps) => (
  <Card title="O que será cancelado">
    <Facts
      facts={[
        when,
        ['Cliente', customer && formatPersonName(customer.name)],
        ['Total', <strong>{formatMoney(total)}</strong>],
      ]}
    />
    <ListTable
      caption="Itens"
      rows={items}
      empty="Nenhum item."
      columns={[
        { head: 'Item', cell: ({ description }) => description },
        { head: 'Quantidade', cell: (item) => formatQuantity(item.quantity), isNumber: true },
        { head: 'Total', cell: (item) => formatMoney(item.total), isNumber: true },
      ]}
    />
  </Card>
)
