import type { ComponentChildren } from 'preact'
import QRCode, { type QRCodeSegment } from 'qrcode'
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
import type { SaleObject } from '#projections/sales.ts'
import { findUnits, type UnitsOfItems, unitIn } from '#queries/item-queries.ts'
import { listPurchases, MAX_PURCHASES, type Purchases, sumPurchases } from '#queries/return-queries.ts'
import { receiptFilePath } from '../csv-files.ts'
import { link } from '../page-context.ts'
import type { PageContext, PageRoute, PanelPage } from '../panel-route.ts'
import { Alert, Card, type Fact, Facts, Figure, Stat, Stats } from '../ui/page-parts.tsx'
import { CardPager, ListTable, recordsOnPage } from '../ui/panel-list.tsx'
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
  const { receipt } = made
  const [code, short] = [
    codeOf(receipt, context.environment.publicUrl),
    shortCodeOf(receipt, context.environment.publicUrl),
  ]
  const company = await loadCompany(visit)
  const body = (
    <div class="receipt">
      {company && <ShopHead company={company} />}
      {sale.cancelled_at !== null && (
        <Alert>Venda cancelada em {formatDateTime(sale.cancelled_at, readModel.timezone)}.</Alert>
      )}
      <Facts facts={factsOf(sale, readModel.timezone)} />
      <Lines sale={sale} units={await findUnits(readModel.reader, sale.items)} />
      <Paid sale={sale} />
      <p class="note">Não é documento fiscal.</p>
      <Proof code={code} receipt={receipt} publicUrl={context.environment.publicUrl}>
        {code.isWhole && (
          <div class="narrow-paper">
            <Code code={short} svg={await drawn(short)} />
          </div>
        )}
        <div class={code.isWhole ? 'wide-paper' : undefined}>
          <Code code={code} svg={await drawn(code)} />
        </div>
      </Proof>
    </div>
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

const factsOf = ({ id, external_id, sold_at, customer, seller }: SaleObject, timezone: string): Fact[] => [
  ['Venda', external_id ?? id],
  ['Data', formatDateTime(sold_at, timezone)],
  ['Atendente', seller && formatPersonName(seller.name)],
  ['Cliente', customer && formatPersonName(customer.name)],
]

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

export const saleReceiptPage: PageRoute = { path: '/vendas/:id/recibo', section: 'sales', show }

/** QR code segments, and whether they contain the whole receipt. */
interface ReceiptCode {
  readonly segments: readonly [address: QRCodeSegment, rest: QRCodeSegment]
  readonly isWhole: boolean
}

/** URL fragment, without `#`. */
const fragmentOf = ({ segments: [, { data }] }: ReceiptCode): string => String(data)

/**
 * Largest printed code in modules. With its margin it has 161 modules on the 72 mm of an 80 mm printer, 0.45 mm each;
 * some phones cannot read smaller ones (ADR-0028).
 */
const MOST_MODULES = 153

const DRAWING = { errorCorrectionLevel: 'L', margin: 4 } as const

/** The receipt, or the hash of its event if the code would be too dense. */
function codeOf(receipt: Receipt, publicUrl: string): ReceiptCode {
  const digits = toReceiptDigits(receipt)
  if (digits !== null) {
    const whole: ReceiptCode['segments'] = [addressSegment(publicUrl), { data: digits, mode: 'numeric' }]
    if (modulesOf(whole) <= MOST_MODULES) return { segments: whole, isWhole: true }
  }
  return shortCodeOf(receipt, publicUrl)
}

/** The hash of the receipt's event, which also fits on a roll of 58 mm. */
function shortCodeOf(receipt: Receipt, publicUrl: string): ReceiptCode {
  const hash = Buffer.from(`${HASH_FRAGMENT}${receipt.event.hash}`)
  return { segments: [addressSegment(publicUrl), { data: hash, mode: 'byte' }], isWhole: false }
}

const addressSegment = (publicUrl: string) =>
  ({ data: Buffer.from(`${publicUrl}${RECEIPT_PAGE}#`), mode: 'byte' }) as const

function modulesOf(segments: ReceiptCode['segments']): number {
  try {
    return QRCode.create([...segments], DRAWING).modules.size
  } catch {
    // Exceeds the capacity of any code.
    return Number.POSITIVE_INFINITY
  }
}

const drawn = ({ segments }: ReceiptCode): Promise<string> =>
  QRCode.toString([...segments], { ...DRAWING, type: 'svg' })

interface CodeProps {
  readonly code: ReceiptCode
  readonly svg: string
}

const Code = ({ code, svg }: CodeProps) => (
  <>
    {/* SVG paths from the library; they contain none of the text. */}
    <div class="qr" role="img" aria-label="QR Code do recibo" dangerouslySetInnerHTML={{ __html: svg }} />
    <p class="hint">
      {code.isWhole
        ? 'O código traz o recibo inteiro: aponte a câmera para conferir.'
        : 'O código traz só a identificação da venda. Para conferir, é preciso também o arquivo do recibo.'}
    </p>
  </>
)

interface ProofProps {
  readonly code: ReceiptCode
  readonly receipt: Receipt
  readonly publicUrl: string
  readonly children: ComponentChildren
}

const Proof = ({ code, receipt, publicUrl, children }: ProofProps) => (
  <section class="proof" aria-label="Conferência">
    {children}
    <p class="hint">
      {`${publicUrl}${RECEIPT_PAGE}`} · evento {receipt.event.revision}, {receipt.event.hash}
    </p>
    <p class="share">
      <a href={`${publicUrl}${RECEIPT_PAGE}#${fragmentOf(code)}`}>Link para enviar ao cliente</a>
    </p>
  </section>
)
