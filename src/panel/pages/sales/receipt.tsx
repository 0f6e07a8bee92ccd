import QRCode, { type QRCodeSegment } from 'qrcode'
import { receiptOf } from '#integrity/proofs/make-receipt.ts'
import { digitsOf, HASH_FRAGMENT, RECEIPT_PAGE, type Receipt } from '#integrity/proofs/receipt.ts'
import { formatDateTime } from '../../format.ts'
import { receiptFilePath } from '../../receipt-file.ts'
import type { PageContext, PageRoute, PanelPage } from '../../route.ts'
import { Alert, Card, Facts } from '../../ui/parts.tsx'
import { Items, SalePayments, saleOf } from './sale.tsx'

async function show(visit: PageContext): Promise<PanelPage | null> {
  const { context, session, readModel } = visit
  const sale = await saleOf(visit)
  const made = sale && (await receiptOf({ ...context, pool: readModel.pool }, session.companyId, sale.id))
  if (!sale || !made) return null
  const { receipt } = made
  const code = codeOf(receipt, context.publicUrl)
  const body = (
    <>
      <p class="brand">{session.companyName}</p>
      {sale.cancelled_at !== null && (
        <Alert>Venda cancelada em {formatDateTime(sale.cancelled_at, readModel.timezone)}.</Alert>
      )}
      <Card title="Dados">
        <Facts
          facts={[
            ['Venda', sale.external_id ?? sale.id],
            ['Vendida em', formatDateTime(sale.sold_at, readModel.timezone)],
          ]}
        />
      </Card>
      <Items sale={sale} />
      <SalePayments sale={sale} />
      <Code code={code} svg={await drawn(code)} receipt={receipt} publicUrl={context.publicUrl} />
    </>
  )
  return {
    title: `Recibo da venda ${sale.id}`,
    parent: { label: `Venda ${sale.id}`, to: `/vendas/${sale.id}` },
    main: { label: 'Imprimir', to: visit.path, prints: true },
    more: [{ label: 'Baixar o arquivo', to: receiptFilePath(sale.id) }],
    body,
  }
}

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
  const address = { data: Buffer.from(`${publicUrl}${RECEIPT_PAGE}#`), mode: 'byte' } as const
  const digits = digitsOf(receipt)
  if (digits !== null) {
    const whole: ReceiptCode['segments'] = [address, { data: digits, mode: 'numeric' }]
    if (modulesOf(whole) <= MOST_MODULES) return { segments: whole, isWhole: true }
  }
  const hash = Buffer.from(`${HASH_FRAGMENT}${receipt.event.hash}`)
  return { segments: [address, { data: hash, mode: 'byte' }], isWhole: false }
}

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
  readonly receipt: Receipt
  readonly publicUrl: string
}

const Code = ({ code, svg, receipt, publicUrl }: CodeProps) => (
  <Card title="Conferência" aside={<a href={`${RECEIPT_PAGE}#${fragmentOf(code)}`}>Conferir</a>}>
    <p>
      {code.isWhole
        ? 'Aponte a câmera para o código: ele traz o recibo inteiro, que o seu aparelho confere sozinho.'
        : 'Esta venda é grande demais para um código impresso: ele traz só a identificação da venda. Para conferir, é preciso também o arquivo do recibo.'}
    </p>
    {/* SVG paths from the library; they contain none of the text. */}
    <div class="qr" role="img" aria-label="QR Code do recibo" dangerouslySetInnerHTML={{ __html: svg }} />
    <p class="hint">
      {`${publicUrl}${RECEIPT_PAGE}`} · evento {receipt.event.revision}, {receipt.event.hash}
    </p>
  </Card>
)
