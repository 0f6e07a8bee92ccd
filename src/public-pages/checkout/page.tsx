import QRCode from 'qrcode'
import { uploadedLogo } from '#domain/brand-color.ts'
import { formatDateTime, formatDay, formatMoney, formatPhone, formatQuantity } from '#domain/brazilian-format.ts'
import { type CheckoutState, ENDED_PAYMENTS, endedPaymentOf } from '#queries/checkout-state.ts'
import type { BuyersOrder, Shop } from '#queries/orders.ts'

const MINUTE = 60
const HOUR = 60 * MINUTE

/** The page's script formats it the same way. */
function timeLeft(seconds: number): string {
  if (seconds >= 2 * HOUR) return `${Math.floor(seconds / HOUR)} horas`
  const minutes = Math.ceil(seconds / MINUTE)
  return minutes === 1 ? '1 minuto' : `${minutes} minutos`
}

/** The view of an order for its buyer. */
export interface CheckoutView {
  readonly found: BuyersOrder
  readonly state: CheckoutState
  /** URL path of the page. */
  readonly path: string
  /** Token of the form; null if Pix cannot be requested. */
  readonly formCode: string | null
  /** Why the request failed. */
  readonly problem: string | null
}

export const titleOf = ({ found: { order, shop } }: CheckoutView): string => `${nameOf(order)} · ${shop.name}`

const nameOf = ({ id, external_id }: BuyersOrder['order']): string => `Pedido ${external_id ?? id}`

export async function checkoutPageOf(shown: CheckoutView) {
  const { found, state } = shown
  return (
    <>
      <ShopName shop={found.shop} />
      <h1>{nameOf(found.order)}</h1>
      <section class={state.is === 'paid' ? 'card state good' : 'card state'} aria-labelledby="estado">
        <h2 id="estado">{headingOf(state)}</h2>
        {!SETTLED.has(state.is) && <p class="amount">{formatMoney(found.order.total)}</p>}
        {await Payment(shown)}
        {shown.problem !== null && (
          <p class="problem" role="alert">
            {shown.problem}
          </p>
        )}
        {shown.formCode !== null && <PixForm shown={shown} />}
      </section>
      <Items found={found} />
      <Contact shop={found.shop} />
      <noscript>
        <p>
          <a href={shown.path}>Atualizar</a>
        </p>
      </noscript>
    </>
  )
}

/** States in which nothing is to be paid. */
const SETTLED: ReadonlySet<CheckoutState['is']> = new Set(['paid', 'refunded', 'cancelled'])

/** Head of every page of a shop, errors included. */
export const ShopName = ({ shop: { name, logo_url } }: { readonly shop: Shop }) => {
  const logo = uploadedLogo(logo_url)
  return (
    <p class="brand">
      {logo !== null && <img class="logo" src={logo} alt="" />}
      <span>{name}</span>
    </p>
  )
}

const Contact = ({ shop: { name, cnpj, address, phone } }: { readonly shop: Shop }) => (
  <footer class="hint contact">
    <p>{`${name} · CNPJ ${cnpj}`}</p>
    {address !== null && <p>{address}</p>}
    {phone !== null && (
      <p>
        Telefone: <a href={`tel:${phone}`}>{formatPhone(phone)}</a>
      </p>
    )}
  </footer>
)

const HEADINGS: Readonly<Record<CheckoutState['is'], string>> = {
  unpaid: 'Aguardando pagamento',
  starting: 'O código Pix está sendo gerado',
  pix: 'Pague com Pix',
  boleto: 'Pague o boleto',
  in_review: 'Pagamento em análise',
  ending: ENDED_PAYMENTS.expired,
  paid: 'Pagamento recebido',
  refunded: 'Pagamento estornado',
  cancelled: 'Pedido cancelado',
}

function headingOf(state: CheckoutState): string {
  const ended = endedPaymentOf(state)
  return ended === null ? HEADINGS[state.is] : ENDED_PAYMENTS[ended]
}

const BEFORE = {
  expired: 'O pagamento anterior expirou.',
  cancelled: 'O pagamento anterior foi cancelado.',
  failed: 'O pagamento anterior não foi aprovado. Nada foi cobrado.',
} as const

async function Payment({ found, state, formCode }: CheckoutView) {
  const { order, timezone } = found
  switch (state.is) {
    case 'paid':
      return (
        <>
          <p>A loja recebeu {formatMoney(order.total)}. Obrigado!</p>
          {state.refunded !== null && <p>Já foram estornados {formatMoney(state.refunded)}.</p>}
        </>
      )
    case 'refunded':
      return <p>O valor de {formatMoney(order.refunded_total)} foi estornado.</p>
    case 'cancelled':
      return <p>A loja cancelou este pedido. Não pague códigos ou boletos deste pedido.</p>
    case 'in_review':
      return <p>O pagamento está sendo analisado. Esta página mostra o resultado.</p>
    case 'ending':
      return <p>Não pague mais o código ou boleto anterior. Em um minuto será possível pagar de outra forma.</p>
    case 'starting':
      return <p>Aguarde um instante. Se o código não aparecer, tente de novo: nada é cobrado duas vezes.</p>
    case 'pix':
      return (
        <Pix pix={state.pix} secondsLeft={state.secondsLeft} timezone={timezone} svg={await drawn(state.pix.qr_code)} />
      )
    case 'boleto':
      return <Boleto boleto={state.boleto} />
    case 'unpaid':
      return (
        <>
          {state.before !== null && <p>{BEFORE[state.before]}</p>}
          {formCode === null && <p>Combine o pagamento com a loja.</p>}
        </>
      )
  }
}

/** The QR code of a text; null if the text is too long for one. It can still be copied. */
const drawn = (code: string): Promise<string | null> =>
  QRCode.toString(code, { type: 'svg', errorCorrectionLevel: 'M', margin: 4 }).catch(() => null)

interface PixProps {
  readonly pix: Extract<CheckoutState, { is: 'pix' }>['pix']
  readonly secondsLeft: number | null
  readonly timezone: string
  readonly svg: string | null
}

const Pix = ({ pix, secondsLeft, timezone, svg }: PixProps) => (
  <>
    <p>Copie o código e cole no app do seu banco, ou escaneie o QR Code.</p>
    <CopyButton />
    {svg !== null && (
      // SVG paths from the library; they contain none of the text.
      <div class="qr" role="img" aria-label="QR Code do Pix" dangerouslySetInnerHTML={{ __html: svg }} />
    )}
    <CodeText label="Pix copia e cola" text={pix.qr_code} />
    {secondsLeft !== null && pix.expires_at !== null && (
      <p>
        Vale até {formatDateTime(pix.expires_at, timezone)} (faltam{' '}
        <span data-seconds-left={secondsLeft}>{timeLeft(secondsLeft)}</span>).
      </p>
    )}
    <p class="hint">Esta página avisa quando o pagamento chegar.</p>
  </>
)

const Boleto = ({ boleto }: { readonly boleto: Extract<CheckoutState, { is: 'boleto' }>['boleto'] }) => (
  <>
    <CopyButton />
    <CodeText label="Linha digitável" text={boleto.digitable_line ?? boleto.barcode} />
    {boleto.due_on !== null && <p>Vence em {formatDay(boleto.due_on)}.</p>}
    {boleto.ticket_url?.startsWith('https://') && (
      <p>
        <a href={boleto.ticket_url} rel="noreferrer">
          Abrir o boleto
        </a>
      </p>
    )}
    <p class="hint">Um boleto pago é confirmado em até três dias úteis.</p>
  </>
)

/** Copies the text of `CodeText`; the page's script shows it. */
const CopyButton = () => (
  <button type="button" class="main" data-copy="codigo" hidden>
    Copiar código
  </button>
)

/** A selectable text; long texts wrap. */
const CodeText = ({ label, text }: { readonly label: string; readonly text: string }) => (
  <div class="copied">
    <label for="codigo">{label}</label>
    <textarea id="codigo" readOnly rows={4} value={text} />
  </div>
)

const PixForm = ({ shown: { found, path, formCode } }: { readonly shown: CheckoutView }) => (
  <form method="post" action={`${path}/pix`}>
    <input type="hidden" name="codigo" value={formCode ?? ''} />
    {found.order.customer.email === null && (
      <p>
        <label for="email">E-mail</label>
        <input
          id="email"
          name="email"
          type="email"
          autocomplete="email"
          required
          maxLength={254}
          aria-describedby="uso"
        />
        <span class="hint" id="uso">
          Exigido pelo meio de pagamento. Não guardamos.
        </span>
      </p>
    )}
    <button type="submit" class="main">
      Pagar {formatMoney(found.order.total)} com Pix
    </button>
  </form>
)

const Items = ({ found: { order } }: { readonly found: BuyersOrder }) => (
  <section class="card" aria-labelledby="itens">
    <h2 id="itens">Itens</h2>
    <table>
      <thead>
        <tr>
          <th scope="col">Item</th>
          <th scope="col" class="number">
            Qtd.
          </th>
          <th scope="col" class="number">
            Valor
          </th>
        </tr>
      </thead>
      <tbody>
        {order.items.map((item) => (
          <tr>
            <td>{item.description}</td>
            <td class="number">{formatQuantity(item.quantity)}</td>
            <td class="number">{formatMoney(item.total)}</td>
          </tr>
        ))}
      </tbody>
      <tfoot>
        {Number(order.delivery_fee) > 0 && (
          <tr>
            <th scope="row" colSpan={2}>
              Entrega
            </th>
            <td class="number">{formatMoney(order.delivery_fee)}</td>
          </tr>
        )}
        <tr>
          <th scope="row" colSpan={2}>
            Total
          </th>
          <td class="number total">{formatMoney(order.total)}</td>
        </tr>
      </tfoot>
    </table>
  </section>
)
