import type { ComponentChildren } from 'preact'
import { fromCents, toCents } from '#domain/money.ts'
import { formatCount, formatDateTime, formatMoney, formatPersonName, formatUnits } from '#domain/person-values.ts'
import {
  HASH_FRAGMENT,
  makeSaleReceipt,
  RECEIPT_PAGE,
  type Receipt,
  toReceiptDigits,
} from '#integrity/sale-receipts.ts'
import { isRefusal } from '#ledger/command.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { CustomerObject } from '#projections/people.ts'
import type { SaleObject } from '#projections/sales.ts'
import { findUnits, type UnitsOfItems, unitIn } from '#queries/item-queries.ts'
import { getCustomer } from '#queries/person-queries.ts'
import type { Reader } from '#queries/reader.ts'
import { listPurchases, MAX_PURCHASES, type Purchases, sumPurchases } from '#queries/return-queries.ts'
import { receiptFilePath } from '../csv-files.ts'
import { link } from '../page-context.ts'
import type { PageContext, PanelPage, PanelRoute, PanelServices } from '../panel-route.ts'
import { ListTable } from '../ui/list-table.tsx'
import { Alert, Card, Figure, Stat, Stats } from '../ui/page-parts.tsx'
import { CardPager, recordsOnPage } from '../ui/panel-list.tsx'
import { findLink, QrCode, SharedLinkCard, sharedLinkForms } from '../ui/shared-link.tsx'
import { loadCompany, ShopHead, toLogoOrigin } from './company-pages.tsx'
import { SaleBadge } from './sale-list.tsx'
import { CameBack, cameBack, GivenBackLines, lineScope, loadSale, SumLine } from './sale-page.tsx'

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

async function show(visit: PageContext): Promise<PanelPage | null> {
  const { context, readModel } = visit
  const sale = await loadSale(visit)
  const made =
    sale &&
    (await makeSaleReceipt({ ...context.proofs, store: context.reads.store, reader: readModel.reader }, sale.id))
  if (!sale || !made) return null
  const page = toCheckPage(context, visit.session.companyId)
  const link = await findLink(visit, { kind: 'sale', id: sale.id })
  const company = await loadCompany(visit)
  const body = (
    <>
      {
        await ReceiptPaper({
          ...{ company, sale, reader: readModel.reader, timezone: readModel.timezone },
          code: link?.url ?? `${page}#${HASH_FRAGMENT}${made.receipt.event.hash}`,
          children: (
            <>
              <p class="hint">
                {link?.url ? 'O código abre o recibo.' : `Para conferir em ${page}, peça o arquivo à loja.`}
              </p>
              <CheckLink page={page} receipt={made.receipt} />
            </>
          ),
        })
      }
      <SharedLinkCard
        visit={visit}
        link={link}
        to={`/vendas/${sale.id}/recibo`}
        title="Link do recibo"
        hint="Quem tiver o link vê este recibo, sem entrar no Tillbook. Com ele, o código impresso abre o recibo."
        message={`Recibo da sua compra em ${company?.name ?? 'nossa loja'}:`}
        phone={sale.customer && (await findPhone(readModel.reader, sale.customer.id))}
      />
    </>
  )
  return {
    title: `Recibo da venda ${sale.id}`,
    parent: { label: `Venda ${sale.id}`, to: `/vendas/${sale.id}` },
    main: { label: 'Imprimir', to: visit.path, prints: true },
    more: [{ label: 'Baixar o arquivo', to: receiptFilePath(sale.id) }],
    imageOrigin: toLogoOrigin(company),
    body,
  }
}

interface ReceiptProps {
  readonly company: CompanyObject | null
  readonly sale: SaleObject
  readonly reader: Reader
  readonly timezone: string
  /** Printed as a QR code; null: none. */
  readonly code: string | null
  /** How to verify it. */
  readonly children: ComponentChildren
}

/** A receipt as paper and its link show it. */
export const ReceiptPaper = async ({ company, sale, reader, timezone, code, children }: ReceiptProps) => (
  <div class="receipt">
    {company && <ShopHead company={company} />}
    {sale.cancelled_at !== null && <Alert>Venda cancelada em {formatDateTime(sale.cancelled_at, timezone)}.</Alert>}
    <p class="note">{describeSale(sale, timezone)}</p>
    <Lines sale={sale} units={await findUnits(reader, sale.items)} />
    <Paid sale={sale} />
    <section class="proof" aria-label="Conferência">
      {code !== null && (await QrCode({ of: code, label: 'QR Code do recibo' }))}
      <div>
        {children}
        <p class="note">Não é documento fiscal.</p>
      </div>
    </section>
  </div>
)

const describeSale = ({ id, external_id, sold_at, customer, seller }: SaleObject, timezone: string): string =>
  [
    `Recibo da venda ${external_id ?? id}`,
    formatDateTime(sold_at, timezone),
    seller && `Atendente: ${formatPersonName(seller.name)}`,
    customer && `Cliente: ${formatPersonName(customer.name)}`,
  ]
    .filter(Boolean)
    .join(' · ')

interface LinesProps {
  readonly sale: SaleObject
  readonly units: UnitsOfItems
}

/** Two lines an item, so that unit and price fit on the narrowest paper. */
const Lines = ({ sale, units }: LinesProps) => (
  <>
    <table class="lines">
      <caption class="hidden">Itens</caption>
      <tbody>
        {sale.items.map((item) => (
          <tr>
            <th scope="row">
              {item.description}
              <small>
                {`${formatUnits(item.quantity, unitIn(units, item))} × ${formatMoney(item.unit_price)}`}
                {isPositive(item.discount) && `, desconto de ${formatMoney(item.discount)}`}
              </small>
              {cameBack(item) && (
                <small>
                  Devolvido: <CameBack of={lineScope(sale, item)} item={item} unit={unitIn(units, item)} />
                </small>
              )}
            </th>
            <td class="number">{formatMoney(item.total)}</td>
          </tr>
        ))}
      </tbody>
    </table>
    <dl class="sums total">
      {sale.subtotal !== sale.total && <SumLine name="Subtotal" amount={sale.subtotal} isOptional />}
      <SumLine name="Desconto" amount={sale.discount} isOptional />
      <SumLine name="Entrega" amount={sale.delivery_fee} isOptional />
      <SumLine name="Total" amount={sale.total} />
    </dl>
  </>
)

/** What was paid, without the shop's fees, and what went back. */
const Paid = ({ sale, sale: { payments, change, total } }: Pick<LinesProps, 'sale'>) => (
  <dl class="sums">
    {isPositive(change) && statedWithoutChange(payments, total) && (
      <SumLine name="Recebido" amount={fromCents(toCents(total) + toCents(change))} />
    )}
    {payments.map(({ name, amount }) => (
      <SumLine name={name} amount={amount} />
    ))}
    <SumLine name="Troco" amount={change} isOptional />
    <GivenBackLines sale={sale} />
  </dl>
)

/** Some tills state payments without the change that they gave. */
const statedWithoutChange = (payments: SaleObject['payments'], total: string): boolean =>
  payments.reduce((sum, { amount }) => sum + toCents(amount), 0) <= toCents(total)

const isPositive = (amount: string): boolean => toCents(amount) > 0

export const saleReceiptPages: readonly PanelRoute[] = [
  { path: '/vendas/:id/recibo', section: 'sales', show },
  ...sharedLinkForms<SaleObject>({
    path: '/vendas/:id/recibo',
    section: 'sales',
    access: 'sell',
    subject: loadSale,
    sharedOf: ({ id }) => ({ kind: 'sale', id }),
    pageOf: ({ id }) => `/vendas/${id}/recibo`,
  }),
]

/** Address of the page that verifies receipts, which shows the shop. */
export const toCheckPage = ({ access, environment }: PanelServices, companyId: number): string =>
  `${environment.publicUrl}${RECEIPT_PAGE}?loja=${access.shownShops.codeFor(companyId)}`

interface CheckProps {
  /** Address of the page that verifies receipts. */
  readonly page: string
  readonly receipt: Receipt
}

/** The whole receipt, or the hash of its event, behind `#`, which browsers do not send. */
export const toCheckAddress = (page: string, receipt: Receipt): string =>
  `${page}#${toReceiptDigits(receipt) ?? `${HASH_FRAGMENT}${receipt.event.hash}`}`

export const CheckLink = ({ page, receipt }: CheckProps) => (
  <p class="share">
    <a href={toCheckAddress(page, receipt)}>Conferir no registro de auditoria</a>
  </p>
)

async function findPhone(reader: Reader, customerId: number): Promise<string | null> {
  const { record } = await getCustomer(reader, customerId)
  return record ? (JSON.parse(record) as CustomerObject).phone : null
}
