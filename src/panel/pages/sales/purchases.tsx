import { formatCount, formatDateTime, formatMoney } from '#domain/brazilian-format.ts'
import { isRefusal } from '#ledger/command.ts'
import type { SaleObject } from '#projections/sales.ts'
import { listPurchases, MAX_PURCHASES, type Purchases, sumPurchases } from '#queries/sales/purchases.ts'
import { link } from '../../link.ts'
import type { PageContext } from '../../route.ts'
import { Figure } from '../../ui/figure.tsx'
import { recordsOnPage } from '../../ui/list.tsx'
import { ListTable } from '../../ui/list-table.tsx'
import { CardPager } from '../../ui/pager.tsx'
import { Card, Stat, Stats } from '../../ui/parts.tsx'
import { SaleBadge } from './sales.tsx'

const ROWS = 10

interface PurchasesProps {
  readonly visit: PageContext
  /** Of the customer. */
  readonly id: number
}

/** Purchases of a customer, latest first, ten per page; `compras` in the query string is the page. */
export async function PurchasesCard({ visit, id }: PurchasesProps) {
  const { reader, timezone } = visit.readModel
  const { compras } = visit.query
  const asked = { customer_id: id, limit: ROWS }
  const found = await listPurchases(reader, { ...asked, ...(compras && { cursor: compras }) })
  const page = isRefusal(found) ? await listPurchases(reader, asked) : found
  return (
    <Card title="Compras" id="compras">
      <PurchaseStats of={`comprador/${id}`} bought={await sumPurchases(reader, id)} timezone={timezone} />
      <ListTable
        isList
        caption="Compras"
        rows={recordsOnPage<SaleObject>(page)}
        empty="Nenhuma compra ainda."
        columns={[
          { head: 'Venda', cell: (sale) => <a href={link(`/vendas/${sale.id}`)}>{sale.id}</a> },
          { head: 'Quando', cell: ({ sold_at }) => formatDateTime(sold_at, timezone) },
          { head: 'Situação', cell: ({ status }) => <SaleBadge status={status} />, isExtra: true },
          { head: 'Total', cell: ({ total }) => formatMoney(total), isNumber: true },
        ]}
      />
      <CardPager
        visit={visit}
        card="compras"
        parameter="compras"
        next={isRefusal(page) ? null : page.next}
        words={['Páginas de compras', 'Últimas compras', 'Compras anteriores']}
      />
    </Card>
  )
}

interface PurchaseStatsProps {
  /** Scope of its figures. */
  readonly of: string
  readonly bought: Purchases
  readonly timezone: string
}

const PurchaseStats = ({ of, bought: { count, amount, last_sold_at }, timezone }: PurchaseStatsProps) => {
  const figure = (name: string, text: string) => (
    <Figure name={name} of={of}>
      {text}
    </Figure>
  )
  const last = last_sold_at && formatDateTime(last_sold_at, timezone)
  return count > MAX_PURCHASES ? (
    <p class="hint">{`Mais de ${formatCount(MAX_PURCHASES)} compras.`}</p>
  ) : (
    <Stats>
      <Stat
        label="Total comprado"
        value={figure('liquido', formatMoney(amount))}
        hint="sem as canceladas e o que foi devolvido"
      />
      <Stat label="Compras" value={figure('concluidas', formatCount(count))} />
      {last === null ? (
        <Stat label="Última" value="—" />
      ) : (
        <Stat label="Última" value={last.slice(0, 10)} hint={`às ${last.slice(11)}`} />
      )}
    </Stats>
  )
}
