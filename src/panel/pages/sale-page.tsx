import { fromCents, toCents, toThousandths } from '#domain/money.ts'
import * as format from '#domain/person-values.ts'
import { formatDateTime, formatMoney } from '#domain/person-values.ts'
import type { SaleMoneyBack, SaleObject } from '#projections/sales.ts'
import { findLiveItems, findUnits, type UnitsOfItems, unitIn } from '#queries/item-queries.ts'
import { getSale, getSaleTraces, type SaleBalance, type SaleTraces, type SaleUpload } from '#queries/sale-queries.ts'
import { link } from '../page-context.ts'
import type { PageContext, PageReadModel, PageRoute, PanelPage } from '../panel-route.ts'
import { AsOfForm, History, namesOfActors } from '../record-history.tsx'
import { TimeMachine, toPresent } from '../time-machine.tsx'
import { ListTable } from '../ui/list-table.tsx'
import {
  ButtonLink,
  Card,
  type Fact,
  Facts,
  Figure,
  FigureUnits,
  PanelBadge,
  SaleLink,
  ShortId,
} from '../ui/page-parts.tsx'
import { loadRecord } from '../ui/record-pages.tsx'
import { CHANNELS } from '../words/event-words.ts'
import { ORDERS_PATH } from './order-lists.tsx'
import { loadSaleReturns, ReturnsCard } from './return-list.tsx'
import { SaleBadge } from './sale-list.tsx'
import { FiscalDocumentCard, isInForce, paymentDetailsText } from './sale-parts.tsx'
import { SaleUploadCard } from './uploaded-sale-pages.tsx'

/** The sale of a path; null if it does not exist. */
export const loadSale = (visit: PageContext): Promise<SaleObject | null> =>
  loadRecord(visit, ({ readModel }, id) => getSale(readModel.reader, id))

async function show(visit: PageContext): Promise<PanelPage | null> {
  const { readModel } = visit
  const sale = await loadSale(visit)
  const traces = sale && (await getSaleTraces(readModel.reader, sale.id))
  if (!sale || !traces) return null
  const items = sale.items.flatMap(({ catalog_item_id }) => catalog_item_id ?? [])
  const liveItems = await findLiveItems(readModel.reader, items)
  const units = await findUnits(readModel.reader, sale.items)
  const returns = await loadSaleReturns(visit, sale.id)
  const later = readModel.moment ? await loadSaleReturns(toPresent(visit), sale.id) : returns
  const steps = { visit, subject: `sale/${sale.id}`, others: later.map(({ id }) => `return/${id}`) }
  const body = (
    <>
      {await TimeMachine(steps)}
      {sale.order_id === null &&
        !readModel.moment &&
        sale.status === 'completed' &&
        isInForce(sale.fiscal_document) && (
          <p class="hint">
            Esta venda tem documento fiscal em vigor: só pode ser cancelada depois que ele for cancelado.
          </p>
        )}
      <Card title="Dados">
        <Facts facts={factsOf(sale, traces, units, readModel.timezone)} />
      </Card>
      <FiscalDocumentCard sale={sale} timezone={readModel.timezone} />
      <Items sale={sale} liveItems={liveItems} units={units} />
      <SalePayments sale={sale} />
      <ReturnsCard visit={visit} returns={returns} />
      <ReceivablesCard receivables={traces.receivables} debtor={debtorOf(sale, traces, readModel)} />
      {traces.upload && (
        <SaleUploadCard
          sale={sale}
          upload={traces.upload}
          units={units}
          timezone={readModel.timezone}
          sender={await senderOf(readModel, traces.upload)}
        />
      )}
      {await History(steps)}
      <AsOfForm visit={visit} />
    </>
  )
  return {
    title: `Venda ${sale.id}`,
    parent: { label: 'Vendas', to: '/vendas' },
    ...(!readModel.moment && actionsOf(sale, traces)),
    body,
  }
}

const senderOf = async (readModel: PageReadModel, upload: SaleUpload): Promise<string> =>
  (await namesOfActors(readModel, [upload]))(upload.actor)

export const salePage: PageRoute = { path: '/vendas/:id', section: 'sales', asOf: true, show }

/** Actions on a sale; as-of pages have none. The sale of an order ends with a refund of the order. */
function actionsOf(
  { id, status, fiscal_document, order_id, returned_total, customer }: SaleObject,
  { receivables }: SaleTraces,
): Pick<PanelPage, 'main' | 'more' | 'dangers'> {
  const [isCompleted, isDocumented] = [status === 'completed', isInForce(fiscal_document)]
  const lacksCustomer = isCompleted && customer === null && receivables.length > 0
  return {
    main: { label: 'Recibo', to: `/vendas/${id}/recibo` },
    more: [
      isCompleted && order_id === null && { label: 'Devolver mercadoria', to: `/vendas/${id}/devolver` },
      lacksCustomer && { label: 'Informar cliente', to: `/vendas/${id}/cliente` },
      isCompleted && { label: 'Registrar documento fiscal', to: `/vendas/${id}/documento-fiscal` },
    ],
    dangers: [
      order_id === null
        ? isCompleted &&
          !isDocumented &&
          returned_total === '0.00' && { label: 'Cancelar venda', to: `/vendas/${id}/cancelar` }
        : isCompleted && { label: 'Cancelar no pedido', to: `${ORDERS_PATH}/${order_id}` },
    ],
  }
}

function factsOf(
  sale: SaleObject,
  { has_customer }: SaleTraces,
  units: UnitsOfItems,
  timezone: string,
): readonly Fact[] {
  const { customer } = sale
  return [
    [
      'Total',
      <strong key="total" class="figure">
        {formatMoney(sale.total)}
      </strong>,
    ],
    ['Situação', <SaleBadge key="status" status={sale.status} />],
    ['Vendida em', formatDateTime(sale.sold_at, timezone)],
    ['Registrada em', formatDateTime(sale.created_at, timezone)],
    [
      'Cliente',
      customer &&
        (has_customer ? (
          <a href={link(`/clientes/${customer.id}`)}>{format.formatPersonName(customer.name)}</a>
        ) : (
          format.formatPersonName(customer.name)
        )),
    ],
    ['Vendedor', sale.seller && format.formatPersonName(sale.seller.name)],
    ['Origem', CHANNELS[sale.origin]],
    ...(sale.order_id === null ? [] : orderFacts(sale.order_id)),
    ...(sale.offline_id === null ? warningFacts(sale, units) : []),
    ['Código externo', sale.external_id],
    ['Identificação no caixa', sale.offline_id && <ShortId id={sale.offline_id} />],
    ['Cancelada em', sale.cancelled_at && formatDateTime(sale.cancelled_at, timezone)],
    ['Motivo do cancelamento', sale.cancel_reason],
    ['Dinheiro devolvido', sale.cancel_refunds && moneyBackText(sale.cancel_refunds)],
  ]
}

/** How the money of a cancelled sale went back. */
const moneyBackText = (refunds: readonly SaleMoneyBack[]): string =>
  refunds.length === 0
    ? 'Nada a devolver'
    : refunds.map(({ name, amount }) => `${formatMoney(amount)} em ${name}`).join(', ')

/** Facts of the sale of an order. */
const orderFacts = (order_id: number): Fact[] => [
  ['Pedido', <a href={link(`${ORDERS_PATH}/${order_id}`)}>{`Pedido ${order_id}`}</a>],
]

/** Of a sale that no till uploaded: its warnings stand with its upload. */
const warningFacts = ({ warnings, items }: SaleObject, units: UnitsOfItems): Fact[] =>
  warnings.map(({ code, catalog_item_id, requested = '', available = '', sale_id }): Fact => {
    if (sale_id !== undefined) return ['Pagamento já usado', <SaleLink key={sale_id} id={sale_id} />]
    if (code === 'sold_at_old') return ['Data antiga', 'Confira a data da venda']
    const item = items.find((each) => each.catalog_item_id === catalog_item_id)
    const [sold, had] = [requested, available].map((quantity) =>
      format.formatUnits(quantity, item && unitIn(units, item)),
    )
    return ['Estoque insuficiente', `${item?.description ?? ''}: vendidos ${sold}, havia ${had}`]
  })

interface ItemsProps {
  readonly sale: SaleObject
  /** Ids of items with a page. */
  readonly liveItems: ReadonlySet<number>
  readonly units: UnitsOfItems
}

interface ItemNameProps {
  readonly item: SaleObject['items'][number]
  readonly live: ReadonlySet<number>
}

/** A deactivated item has no page. */
const ItemName = ({ item: { catalog_item_id, description }, live }: ItemNameProps) =>
  catalog_item_id !== null && live.has(catalog_item_id) ? (
    <a href={link(`/catalogo/${catalog_item_id}`)}>{description}</a>
  ) : (
    description
  )

const Items = ({ sale, liveItems, units }: ItemsProps) => (
  <Card title="Itens">
    <ListTable
      caption="Itens"
      rows={sale.items}
      empty="Sem itens."
      columns={[
        { head: 'Item', cell: (item) => <ItemName item={item} live={liveItems} /> },
        { head: 'Qtd.', cell: (item) => format.formatUnits(item.quantity, unitIn(units, item)), isNumber: true },
        sale.items.some(cameBack) && {
          head: 'Devolvido',
          cell: (item) =>
            cameBack(item) && <CameBack of={lineScope(sale, item)} item={item} unit={unitIn(units, item)} />,
          isNumber: true,
        },
        { head: 'Preço', cell: ({ unit_price }) => formatMoney(unit_price), isNumber: true, isExtra: true },
        sale.items.some(({ discount }) => discount !== '0.00') && {
          head: 'Desconto',
          cell: ({ discount }) => formatMoney(discount),
          isNumber: true,
          isExtra: true,
        },
        { head: 'Total', cell: ({ total }) => formatMoney(total), isNumber: true },
        // Part of the discount on the whole sale.
        sale.discount !== '0.00' && {
          head: 'Rateio do desconto',
          cell: ({ discount_share }) => formatMoney(discount_share),
          isNumber: true,
          isExtra: true,
        },
      ]}
    />
    <dl class="sums">
      <SumLine name="Subtotal" amount={sale.subtotal} />
      <SumLine name="Desconto" amount={sale.discount} isOptional />
      <SumLine name="Entrega" amount={sale.delivery_fee} isOptional />
      <SumLine name="Total" amount={sale.total} />
      <GivenBackLines sale={sale} />
    </dl>
  </Card>
)

type SaleItem = SaleObject['items'][number]

export const cameBack = ({ returned }: SaleItem): boolean => toThousandths(returned) > 0

export const lineScope = ({ id, items }: SaleObject, item: SaleItem): string => `venda/${id}/${items.indexOf(item)}`

interface CameBackProps {
  readonly of: string
  readonly item: SaleItem
  readonly unit: string | null | undefined
}

/** How much of a line came back. */
export const CameBack = ({ of, item, unit }: CameBackProps) => (
  <FigureUnits name="voltou" of={of} quantity={item.returned} unit={unit} />
)

/** Money that went back, and what is left of the sale. A cancelled sale was given back as a whole. */
export const GivenBackLines = ({ sale }: { readonly sale: SaleObject }) => {
  const back = toCents(sale.order_id === null ? sale.returned_total : sale.refunded_total)
  if (sale.status === 'cancelled' || back <= 0) return null
  return (
    <>
      {[['devolvido', 'Devolvido', back] as const, ['liquido', 'Líquido', toCents(sale.total) - back] as const].map(
        ([name, label, cents]) => (
          <div key={name}>
            <dt>{label}</dt>
            <dd class="number">
              <Figure name={name} of={`venda/${sale.id}`}>
                {formatMoney(fromCents(cents))}
              </Figure>
            </dd>
          </div>
        ),
      )}
    </>
  )
}

const SalePayments = ({ sale }: { readonly sale: SaleObject }) => (
  <Card title="Pagamentos">
    <ListTable
      caption="Pagamentos"
      rows={sale.payments}
      empty="Nada foi pago."
      columns={[
        { head: 'Forma', cell: ({ name }) => name },
        sale.payments.some(paymentDetailsText) && { head: 'Dados', cell: paymentDetailsText },
        { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
        { head: 'Acréscimo embutido', cell: ({ surcharge }) => formatMoney(surcharge), isNumber: true, isExtra: true },
        { head: 'Líquido', cell: ({ net }) => formatMoney(net), isNumber: true },
      ]}
    />
    {sale.change !== '0.00' && (
      <dl class="sums">
        <SumLine name="Troco" amount={sale.change} />
      </dl>
    )}
    <p class="hint">O acréscimo já está dentro do valor; o líquido é o valor sem ele e sem o troco.</p>
  </Card>
)

interface SumLineProps {
  readonly name: string
  readonly amount: string
  /** Left out if the amount is zero. */
  readonly isOptional?: boolean
}

export const SumLine = ({ name, amount, isOptional }: SumLineProps) =>
  isOptional && amount === '0.00' ? null : (
    <div>
      <dt>{name}</dt>
      <dd class="number">{formatMoney(amount)}</dd>
    </div>
  )

/** The customer whose open accounts can be settled from here; null without one, and on as-of pages. */
const debtorOf = (
  sale: SaleObject,
  { has_customer, receivables }: SaleTraces,
  { moment }: PageReadModel,
): number | null =>
  !moment && has_customer && receivables.some(({ status, is_deleted }) => status === 'pending' && !is_deleted)
    ? (sale.customer?.id ?? null)
    : null

interface ReceivablesProps extends Pick<SaleTraces, 'receivables'> {
  /** The customer whose accounts can be settled. */
  readonly debtor: number | null
}

/** Receivables of the sale, pending and settled. */
const ReceivablesCard = ({ receivables, debtor }: ReceivablesProps) =>
  receivables.length === 0 ? null : (
    <Card
      title="Contas a receber"
      aside={debtor !== null && <ButtonLink to={`/clientes/${debtor}/liquidar`}>Receber do cliente</ButtonLink>}
    >
      <ListTable
        caption="Contas a receber"
        rows={receivables}
        empty=""
        columns={[
          {
            head: 'Conta',
            cell: ({ id, is_deleted }) => (is_deleted ? id : <a href={link(`/contas-a-receber/${id}`)}>{id}</a>),
          },
          { head: 'Vencimento', cell: ({ due_date }) => format.formatDay(due_date) },
          { head: 'Valor', cell: ({ amount }) => formatMoney(amount), isNumber: true },
          { head: 'Em aberto', cell: ({ open_amount }) => formatMoney(open_amount), isNumber: true },
          { head: 'Situação', cell: (receivable) => <ReceivableStatus {...receivable} /> },
        ]}
      />
    </Card>
  )

const ReceivableStatus = ({ status, is_deleted }: SaleBalance) => {
  if (is_deleted) return <PanelBadge tone="plain">Excluída</PanelBadge>
  return status === 'settled' ? (
    <PanelBadge tone="good">Recebida</PanelBadge>
  ) : (
    <PanelBadge tone="warn">Pendente</PanelBadge>
  )
}
