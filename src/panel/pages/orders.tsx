import { z } from 'zod'
import { type DisputeStatus, ORDER_STATUSES, type OrderStatus } from '#domain/orders.ts'
import { isRefusal } from '#ledger/command.ts'
import { isUnseen, type OrderObject } from '#projections/orders.ts'
import type { StoreObject } from '#projections/stores.ts'
import { getOrder, MOST_SUMMED, orderListing, type ShownOrder, sumOrders } from '#queries/orders.ts'
import { listInOrder, NEWEST_FIRST } from '#queries/records.ts'
import { dateTime, dateTimeSeconds, decimal, money, personName } from '../format.ts'
import type { Fields } from '../forms/form.ts'
import { choice, line, optionsOf } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { Visit } from '../route.ts'
import { type Column, List, listed, type QuickFilter, searched, type Wanted } from '../ui/list.tsx'
import { amountCell, listFile } from '../ui/list-file.ts'
import { Badge, type State, StateBadge } from '../ui/parts.tsx'
import { recordOf } from '../ui/record-pages.tsx'

export const PATH = '/loja/pedidos'

/** Of an order, and of each of its payments. */
export const STATES: Readonly<Record<OrderStatus, State>> = {
  pending: ['warn', 'Aguardando pagamento'],
  paid: ['good', 'Pago'],
  failed: ['bad', 'Pagamento falhou'],
  cancelled: ['plain', 'Cancelado'],
  refunded: ['plain', 'Reembolsado'],
}

/** States of a buyer's dispute. */
export const DISPUTES: Readonly<Record<DisputeStatus, State>> = {
  open: ['bad', 'Contestação aberta'],
  lost: ['plain', 'Contestação perdida'],
  won: ['good', 'Contestação ganha'],
}

const filtersOf = (stores: readonly StoreObject[]): Fields => ({
  status: {
    label: 'Situação',
    kind: choice(
      optionsOf(ORDER_STATUSES, (status) => STATES[status][1]),
      'Todas',
    ),
    columns: 4,
  },
  store_alias: {
    label: 'Loja',
    kind: choice(
      stores.map(({ alias }) => ({ value: alias, label: alias })),
      'Todas',
    ),
    columns: 4,
  },
  external_id: { label: 'Código externo', kind: line, columns: 4 },
  alarm: {
    label: 'Alarme',
    kind: choice([{ value: 'open', label: 'Com alarme que ninguém viu' }], 'Tanto faz'),
    columns: 4,
  },
})

const Search = z.object({
  status: z.enum(ORDER_STATUSES).optional(),
  store_alias: z.string().optional(),
  external_id: z.string().optional(),
  alarm: z.enum(['open']).optional(),
  cursor: z.string().optional(),
})

const columnsOf = (timezone: string): Column<OrderObject>[] => [
  { head: 'Pedido', cell: ({ id }) => <a href={link(`${PATH}/${id}`)}>{id}</a> },
  { head: 'Quando', cell: ({ created_at }) => dateTime(created_at, timezone) },
  { head: 'Cliente', cell: ({ customer }) => personName(customer.name) },
  { head: 'Total', cell: ({ total }) => money(total), isNumber: true },
  { head: 'Situação', cell: (order) => <OrderBadges order={order} /> },
  { head: 'Loja', cell: ({ store_alias }) => store_alias, isExtra: true },
]

const QUICK: readonly QuickFilter[] = [
  { label: 'Pagos', filters: { status: 'paid' } },
  { label: 'Aguardando pagamento', filters: { status: 'pending' } },
  { label: 'Com alarme', filters: { alarm: 'open' } },
]

const pageOf = ({ readModel }: Visit, asked: Readonly<Record<string, string>>, { limit }: Wanted) =>
  searched(Search, asked, (search) =>
    listInOrder(readModel.pool, orderListing, NEWEST_FIRST, readModel.companyId, { ...search, limit }),
  )

async function summaryOf({ readModel: { pool, companyId } }: Visit, asked: Readonly<Record<string, string>>) {
  const { cursor: _, ...search } = Search.parse(asked)
  const { count, amount } = await sumOrders(pool, companyId, search)
  if (count > MOST_SUMMED) return <p class="sums">{`Mais de ${decimal(String(MOST_SUMMED))} pedidos`}</p>
  return (
    <p class="sums">
      {count === 1 ? '1 pedido' : `${decimal(String(count))} pedidos`}, <strong>{money(amount)}</strong>
    </p>
  )
}

/** The file's store filter accepts any id: it needs no store names. */
export const orderFile = listFile<OrderObject>({
  path: PATH,
  section: 'store',
  asOf: true,
  filters: filtersOf([]),
  page: pageOf,
  columns: ({ readModel: { timezone } }) => [
    ['Pedido', ({ id }) => id],
    ['Código externo', ({ external_id }) => external_id],
    ['Quando', ({ created_at }) => dateTimeSeconds(created_at, timezone)],
    ['Loja', ({ store_alias }) => store_alias],
    ['Cliente', ({ customer }) => personName(customer.name)],
    ['Situação', ({ status }) => STATES[status][1]],
    ['Total', ({ total }) => amountCell(total)],
    ['Entregue em', ({ delivered_at }) => delivered_at && dateTimeSeconds(delivered_at, timezone)],
  ],
})

/** Orders of the company's stores, newest first. */
export async function OrderList({ visit, stores }: { readonly visit: Visit; readonly stores: readonly StoreObject[] }) {
  const { timezone } = visit.readModel
  const filters = filtersOf(stores)
  const orders = await listed<OrderObject>(visit, filters, async (asked, wanted) => {
    const page = await pageOf(visit, asked, wanted)
    return isRefusal(page) ? page : { ...page, summary: await summaryOf(visit, asked) }
  })
  return (
    <List
      visit={visit}
      filters={filters}
      list={orders}
      caption="Pedidos"
      columns={columnsOf(timezone)}
      empty="Nenhum pedido encontrado."
      quick={QUICK}
      file={`${PATH}.csv`}
    />
  )
}

/** Status of an order, and what needs attention. */
export const OrderBadges = ({ order }: { readonly order: OrderObject }) => {
  const { status, alarms, dispute, partially_refunded, delivered_at } = order
  return (
    <>
      <StateBadge state={STATES[status]} />{' '}
      {partially_refunded && <StateBadge state={['plain', 'Devolvido em parte']} />}{' '}
      {delivered_at !== null && <StateBadge state={['plain', 'Entregue']} />}{' '}
      {dispute?.status === 'open' && <StateBadge state={DISPUTES.open} />}{' '}
      {alarms.some(isUnseen) && <Badge tone="bad">Alarme</Badge>}
    </>
  )
}

/** The order of a path; null if it does not exist. */
export const orderOf = (visit: Visit): Promise<ShownOrder | null> =>
  recordOf(visit, ({ readModel, context }, id) => getOrder(readModel.pool, readModel.companyId, id, context))
