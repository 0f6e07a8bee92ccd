import QRCode, { type QRCodeSegment } from 'qrcode'
import { digitsOf, HASH_FRAGMENT, RECEIPT_PAGE, type Receipt } from '#proof/receipt.ts'
import { receiptOf } from '#proof/receipts.ts'
import { dateTime } from '../../format.ts'
import { receiptFilePath } from '../../receipt-file.ts'
import type { Page, PageRoute, Visit } from '../../route.ts'
import { Alert, Card, Facts } from '../../ui/parts.tsx'
import { Items, Payments, saleOf } from './sale.tsx'

async function show(visit: Visit): Promise<Page | null> {
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
        <Alert>Venda cancelada em {dateTime(sale.cancelled_at, readModel.timezone)}.</Alert>
      )}
      <Card title="Dados">
        <Facts
          facts={[
            ['Venda', sale.external_id ?? sale.id],
            ['Vendida em', dateTime(sale.sold_at, readModel.timezone)],
          ]}
        />
      </Card>
      <Items sale={sale} />
      <Payments sale={sale} />
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

export const receiptPage: PageRoute = { path: '/vendas/:id/recibo', section: 'sales', show }

/** The content of a code in parts, and whether it is the whole receipt. */
interface ReceiptCode {
  readonly segments: readonly [address: QRCodeSegment, rest: QRCodeSegment]
  readonly isWhole: boolean
}

/** The rest of an address after its `#`. */
const fragmentOf = ({ segments: [, { data }] }: ReceiptCode): string => String(data)

/**
 * Modules of the largest code that is printed: with its margin, 161 of them on the 72 mm that printers of 80 mm paper have, 0.45 mm
 * each. Denser ones are not read by every phone (decision 55).
 */
const MOST_MODULES = 153

const DRAWING = { errorCorrectionLevel: 'L', margin: 4 } as const

/** The receipt itself, or the hash of its event where the code would be too dense (PROOF-46). */
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
    // More than any code has room for.
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
    {/* Paths that the library has drawn: nothing of the text is in them. */}
    <div class="qr" role="img" aria-label="QR Code do recibo" dangerouslySetInnerHTML={{ __html: svg }} />
    <p class="hint">
      {`${publicUrl}${RECEIPT_PAGE}`} · evento {receipt.event.revision}, {receipt.event.hash}
    </p>
  </Card>
)
