import type { ComponentChildren } from 'preact'
import QRCode, { type QRCodeSegment } from 'qrcode'
import { formatDateTime, formatMoney, formatPersonName, formatUnits } from '#domain/brazilian-format.ts'
import { fromCents, toCents } from '#domain/money.ts'
import { receiptOf } from '#integrity/proofs/make-receipt.ts'
import { digitsOf, HASH_FRAGMENT, RECEIPT_PAGE, type Receipt } from '#integrity/proofs/receipt.ts'
import type { SaleObject } from '#projections/sales.ts'
import { findUnits, type UnitsOfItems, unitIn } from '#queries/catalog/units.ts'
import { receiptFilePath } from '../../receipt-file.ts'
import type { PageContext, PageRoute, PanelPage } from '../../route.ts'
import { Alert, type Fact, Facts } from '../../ui/parts.tsx'
import { companyOf, logoOriginOf, ShopHead } from '../brand.tsx'
import { CameBack, cameBack, GivenBackLines, lineScope, SumLine, saleOf } from './sale.tsx'

async function show(visit: PageContext): Promise<PanelPage | null> {
  const { context, readModel } = visit
  const sale = await saleOf(visit)
  const made =
    sale && (await receiptOf({ ...context.proofs, store: context.reads.store, reader: readModel.reader }, sale.id))
  if (!sale || !made) return null
  const { receipt } = made
  const [code, short] = [
    codeOf(receipt, context.environment.publicUrl),
    shortCodeOf(receipt, context.environment.publicUrl),
  ]
  const company = await companyOf(visit)
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
    imageOrigin: logoOriginOf(company),
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

/** The receipt, or the hash of its event if the code would be too dense (PROOF-46). */
function codeOf(receipt: Receipt, publicUrl: string): ReceiptCode {
  const digits = digitsOf(receipt)
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
