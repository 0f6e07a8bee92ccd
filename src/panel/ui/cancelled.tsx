import { formatMoney, formatPersonName, formatQuantity } from '#domain/brazilian-format.ts'
import { ListTable } from './list-table.tsx'
import { Card, Facts } from './parts.tsx'

interface CancelledProps {
  /** Label and value of the relevant time. */
  readonly when: readonly [name: string, time: string]
  readonly of: {
    readonly customer: { readonly name: string | null } | null
    readonly items: readonly { readonly description: string; readonly quantity: string; readonly total: string }[]
    readonly total: string
  }
}

/** Details of the record to be cancelled, so that users notice a wrong choice before it is final. */
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
