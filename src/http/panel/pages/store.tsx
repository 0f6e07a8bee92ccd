import type { OrderObject } from '../../../../projections/orders.ts'
import type { StoreObject } from '../../../../projections/stores.ts'
import { listInOrder, NEWEST_FIRST } from '../../../../queries/list.ts'
import { type OrderFilters, orderListing } from '../../../../queries/orders/list-orders.ts'
import { listStores } from '../../../../queries/stores/list-stores.ts'
import { ORDER_STATUSES } from '../../../events/orders.ts'
import { isRefusal } from '../../../ledger/command.ts'
import { dateTime, money, percentage } from '../format.ts'
import { type Fields, type Filled, filledWith } from '../forms/form.ts'
import { choice, line } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { Page, PanelRoute, Visit } from '../route.ts'
import { Filters } from '../ui/form.tsx'
import { Actions, Badge, ButtonLink, Card, Pager } from '../ui/parts.tsx'
import { Table } from '../ui/table.tsx'
import { ORDER_STATUS } from '../words/orders.ts'

const PATH = '/loja'
const ORDERS_OF_A_PAGE = 50

const filterFields = (stores: readonly StoreObject[]): Fields => ({
  status: {
    label: 'Situação',
    kind: choice(ORDER_STATUSES.map((value) => ({ value, label: ORDER_STATUS[value][1] }))),
    columns: 4,
  },
  store_alias: {
    label: 'Loja',
    kind: choice(stores.map(({ alias }) => ({ value: alias, label: alias }))),
    columns: 4,
  },
  external_id: { label: 'Código externo', kind: line, columns: 4 },
})

/** What the address asks for, as far as it makes sense. */
function filtersOf({ status, store_alias, external_id }: Visit['query']): OrderFilters {
  const known = ORDER_STATUSES.find((one) => one === status)
  return { ...(known && { status: known }), ...(store_alias && { store_alias }), ...(external_id && { external_id }) }
}

async function showStore(visit: Visit): Promise<Page> {
  const { pool, companyId, moment } = visit.books
  const { cursor } = visit.query
  const stores = await listStores(pool, companyId)
  const page = await listInOrder(pool, orderListing, NEWEST_FIRST, companyId, {
    ...filtersOf(visit.query),
    limit: ORDERS_OF_A_PAGE,
    ...(cursor && { cursor }),
  })
  const orders = isRefusal(page) ? [] : (JSON.parse(`[${page.data}]`) as OrderObject[])
  const fields = filterFields(stores)
  const filled: Filled = filledWith(fields, visit.query, isRefusal(page) ? page : undefined)
  const canChange = visit.session.role === 'owner' && !moment
  const body = (
    <>
      <Card title="Lojas">
        <StoreTable stores={stores} isOwner={visit.session.role === 'owner'} />
        {canChange && (
          <Actions>
            <ButtonLink to={`${PATH}/lojas/nova`}>Nova loja</ButtonLink>
          </Actions>
        )}
      </Card>
      <Card title="Pedidos">
        <Filters path={PATH} fields={fields} filled={filled} target="pedidos" />
        <div id="pedidos">
          <OrderTable orders={orders} visit={visit} />
          <Pager path={PATH} query={visit.query} next={isRefusal(page) ? null : page.next} />
        </div>
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

const OrderTable = ({ orders, visit }: { readonly orders: readonly OrderObject[]; readonly visit: Visit }) => (
  <Table
    caption="Pedidos"
    rows={orders}
    empty="Nenhum pedido encontrado."
    columns={[
      { head: 'Pedido', cell: ({ id }) => <a href={link(`${PATH}/pedidos/${id}`)}>{id}</a> },
      { head: 'Quando', cell: ({ created_at }) => dateTime(created_at, visit.books.timezone) },
      { head: 'Cliente', cell: ({ customer }) => customer.name },
      { head: 'Total', cell: ({ total }) => money(total), isNumber: true },
      { head: 'Situação', cell: (order) => <OrderBadges order={order} /> },
      { head: 'Loja', cell: ({ store_alias }) => store_alias, isExtra: true },
    ]}
  />
)

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
