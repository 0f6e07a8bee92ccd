import { z } from 'zod'
import { ORDER_STATUSES } from '#domain/orders.ts'
import type { OrderObject } from '#projections/orders.ts'
import type { StoreObject } from '#projections/stores.ts'
import { orderListing } from '#queries/orders.ts'
import { listInOrder, NEWEST_FIRST } from '#queries/records.ts'
import { listStores } from '#queries/stores.ts'
import { dateTime, money, percentage } from '../format.ts'
import type { Fields } from '../forms/form.ts'
import { choice, line, optionsOf } from '../forms/kinds.ts'
import { searched } from '../forms/searched.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { List, listed } from '../ui/list.tsx'
import { Actions, Badge, ButtonLink, Card } from '../ui/parts.tsx'
import { type Column, Table } from '../ui/table.tsx'
import { ORDER_STATUS } from '../words/orders.ts'

const PATH = '/loja'
const ORDERS_OF_A_PAGE = 50

const filterFields = (stores: readonly StoreObject[]): Fields => ({
  status: {
    label: 'Situação',
    kind: choice(optionsOf(ORDER_STATUSES, (status) => ORDER_STATUS[status][1])),
    columns: 4,
  },
  store_alias: {
    label: 'Loja',
    kind: choice(stores.map(({ alias }) => ({ value: alias, label: alias }))),
    columns: 4,
  },
  external_id: { label: 'Código externo', kind: line, columns: 4 },
})

const Search = z.object({
  status: z.enum(ORDER_STATUSES).optional(),
  store_alias: z.string().optional(),
  external_id: z.string().optional(),
  cursor: z.string().optional(),
})

async function showStore(visit: Visit): Promise<Page> {
  const { pool, companyId, moment, timezone } = visit.books
  const stores = await listStores(pool, companyId)
  const filters = filterFields(stores)
  const orders = await listed<OrderObject>(visit, filters, (asked) =>
    searched(Search, asked, (search) =>
      listInOrder(pool, orderListing, NEWEST_FIRST, companyId, { ...search, limit: ORDERS_OF_A_PAGE }),
    ),
  )
  const isOwner = visit.session.role === 'owner'
  const body = (
    <>
      <Card title="Lojas">
        <StoreTable stores={stores} isOwner={isOwner} />
        {isOwner && !moment && (
          <Actions>
            <ButtonLink to={`${PATH}/lojas/nova`}>Nova loja</ButtonLink>
          </Actions>
        )}
      </Card>
      <Card title="Pedidos">
        <List
          visit={visit}
          filters={filters}
          list={orders}
          caption="Pedidos"
          columns={orderColumns(timezone)}
          empty="Nenhum pedido encontrado."
        />
      </Card>
    </>
  )
  return { title: 'Loja online', body }
}

export const StoreBadge = ({ enabled }: Pick<StoreObject, 'enabled'>) =>
  enabled ? <Badge tone="good">Ligada</Badge> : <Badge tone="plain">Desligada</Badge>

const StoreTable = ({ stores, isOwner }: { readonly stores: readonly StoreObject[]; readonly isOwner: boolean }) => (
  <Table
    caption="Lojas"
    rows={stores}
    empty="Nenhuma loja ainda."
    columns={[
      {
        head: 'Loja',
        cell: ({ id, alias }) => (isOwner ? <a href={link(`${PATH}/lojas/${id}`)}>{alias}</a> : <span>{alias}</span>),
      },
      { head: 'Situação', cell: ({ enabled }) => <StoreBadge enabled={enabled} /> },
      { head: 'Comissão', cell: ({ commission_percentage }) => percentage(commission_percentage), isNumber: true },
      { head: 'Ambiente', cell: ({ sandbox }) => (sandbox ? 'Teste' : 'Produção') },
    ]}
  />
)

const orderColumns = (timezone: string): Column<OrderObject>[] => [
  { head: 'Pedido', cell: ({ id }) => <a href={link(`${PATH}/pedidos/${id}`)}>{id}</a> },
  { head: 'Quando', cell: ({ created_at }) => dateTime(created_at, timezone) },
  { head: 'Cliente', cell: ({ customer }) => customer.name },
  { head: 'Total', cell: ({ total }) => money(total), isNumber: true },
  { head: 'Situação', cell: (order) => <OrderBadges order={order} /> },
  { head: 'Loja', cell: ({ store_alias }) => store_alias, isExtra: true },
]

export const StatusBadge = ({ status }: Pick<OrderObject, 'status'>) => {
  const [tone, text] = ORDER_STATUS[status]
  return <Badge tone={tone}>{text}</Badge>
}

const OrderBadges = ({ order: { status, alarms } }: { readonly order: OrderObject }) => (
  <>
    <StatusBadge status={status} /> {alarms.length > 0 && <Badge tone="bad">Alarme</Badge>}
  </>
)

/** Stores and their orders, the newest first. */
export const storePage: PanelRoute = { path: PATH, section: 'store', asOf: true, show: showStore }
