import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import QRCode from 'qrcode'
import { uploadedLogo } from '#domain/images.ts'
import type { OnlineMethod } from '#domain/payment-rules.ts'
import { formatDateTime, formatDay, formatMoney, formatPhone, formatUnits } from '#domain/person-values.ts'
import type { Refusal } from '#domain/refusals.ts'
import { isRefusal } from '#ledger/command.ts'
import { ownKey } from '#ledger/write/idempotency.ts'
import { asSystem } from '#ledger/write/run.ts'
import { type Payments, payOrder } from '#payments/pay-order.ts'
import { isPaymentOpen } from '#projections/order-payments.ts'
import type { OrderObject } from '#projections/orders.ts'
import {
  type BuyersOrder,
  type CheckoutState,
  ENDED_PAYMENTS,
  findEndedPayment,
  type Shop,
} from '#queries/order-queries.ts'
import { ORDER_FILTERS } from '#records/list-filters.ts'

/** Cache time: an account's payment methods hardly ever change. */
const KEPT_MS = 300_000
/** Wait budget of a page: a slow provider must not keep buyers from their order. */
const PATIENCE_MS = 1_000
/** Cached stores. */
const STORES = 1_000

type LoadMethods = () => Promise<readonly OnlineMethod[]>

/** Whether a store's account accepts Pix, as `loadMethods` reports; assumed until it is known. */
export type TakesPix = (alias: string, loadMethods: LoadMethods) => Promise<boolean>

export function createTakesPix(now: () => number): TakesPix {
  const known = new LRUCache<string, Promise<boolean>>({ max: STORES, ttl: KEPT_MS, ttlResolution: 0, perf: { now } })
  return (alias, loadMethods) => {
    let answer = known.get(alias)
    if (!answer) {
      answer = loadMethods().then(
        (methods) => methods.includes('pix'),
        () => true,
      )
      known.set(alias, answer)
    }
    return Promise.race([answer, pause(PATIENCE_MS, true, { ref: false })])
  }
}

/** Attempts on an order that its page may start; the rest of the 50 is reserved for the shop. */
export const ATTEMPTS_FOR_PAGES = 20

interface PixRequest {
  readonly companyId: number
  readonly order: OrderObject
  /** If the order's customer has none. */
  readonly email: string | null
  readonly requestId: string
}

/** Starts Pix payments for buyers. */
export type PayByPix = (request: PixRequest) => Promise<Refusal | null>

/**
 * Returns null if an attempt was made or exists. The attempt's key derives from the number of finished attempts: while
 * one is pending, pressing again is the same request and never starts another. Within a process it waits for
 * the answer under way.
 */
export function createPayByPix(payments: Payments): PayByPix {
  const underWay = new Map<string, Promise<Refusal | null>>()

  async function pay({ companyId, order, email, requestId }: PixRequest): Promise<Refusal | null> {
    const over = order.payments.filter((payment) => !isPaymentOpen(payment)).length
    const key = ownKey(`pagar:${order.provider_reference}:${over}`)
    const answer = await payOrder(payments, {
      acting: asSystem(companyId, requestId),
      // The e-mail address is not part of the hash: there is one attempt.
      idempotency: { key, requestHash: createHash('sha256').update(key).digest('hex') },
      orderId: order.id,
      payment: { method: 'pix', ...(email !== null && { payer: { email } }) },
      onlyIfNoneWaits: true,
    })
    return isRefusal(answer) ? answer : null
  }

  return (request) => {
    const { provider_reference } = request.order
    const before = underWay.get(provider_reference)
    if (before) return before
    const paying = pay(request).finally(() => underWay.delete(provider_reference))
    underWay.set(provider_reference, paying)
    return paying
  }
}

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

export const toCheckoutTitle = ({ found: { order, shop } }: CheckoutView): string => `${nameOf(order)} · ${shop.name}`

const nameOf = ({ id, external_id, receivable_id }: BuyersOrder['order']): string =>
  receivable_id === null ? `Pedido ${external_id ?? id}` : `Cobrança ${id}`

export async function createCheckoutPage(shown: CheckoutView) {
  const { found, state } = shown
  return (
    <>
      <ShopName shop={found.shop} />
      <h1>{nameOf(found.order)}</h1>
      <section class={state.is === 'paid' ? 'card state good' : 'card state'} aria-labelledby="estado">
        <h2 id="estado">{headingOf(state, found.is_over && state.is === 'cancelled')}</h2>
        {!SETTLED.has(state.is) && <p class="amount">{formatMoney(found.order.total)}</p>}
        {await Payment(shown)}
        {shown.problem !== null && (
          <p class="problem" role="alert">
            {shown.problem}
          </p>
        )}
        {shown.formCode !== null && <PixForm shown={shown} />}
      </section>
      <Delivery found={found} />
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

function headingOf(state: CheckoutState, isOver: boolean): string {
  if (isOver) return 'Nada a pagar por este link'
  const ended = findEndedPayment(state)
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
      if (found.is_over) return <p>Esta conta já foi paga ou mudou. Não pague mais por este link: peça outro à loja.</p>
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

/** Of the address only city and district: the link may have reached others. */
const Delivery = ({ found: { order, timezone } }: { readonly found: BuyersOrder }) => {
  const { delivery, delivery_state, dispatched_at, delivered_at } = order
  if (delivery_state === null) return null
  const isMarked = delivery_state !== 'to_do'
  if (delivery === null && !isMarked) return null
  const place = [delivery?.address?.district, delivery?.address?.city].filter(Boolean).join(', ')
  const marked = delivered_at ?? dispatched_at
  return (
    <section class="card" aria-labelledby="entrega">
      <h2 id="entrega">{delivery?.method === 'pickup' ? 'Retirada na loja' : 'Entrega'}</h2>
      {place !== '' && <p>{place}</p>}
      {delivery?.due_at && delivered_at === null && <p>Para {formatDateTime(delivery.due_at, timezone)}.</p>}
      {isMarked && marked && (
        <p>
          {ORDER_FILTERS.delivery_state.names[delivery_state]} em {formatDateTime(marked, timezone)}.
        </p>
      )}
    </section>
  )
}

const Items = ({ found: { order, units } }: { readonly found: BuyersOrder }) => (
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
            <td class="number">
              {formatUnits(item.quantity, item.catalog_item_id === null ? null : units[item.catalog_item_id])}
            </td>
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
