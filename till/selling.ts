import { formatCents, fromCents, fromThousandths, toCents, toThousandths } from './amounts.ts'
import {
  addProduct,
  type Cart,
  type CartReturn,
  cartTotal,
  customerOf,
  emptyCart,
  exchanged,
  isEmpty,
  MAX_LINES,
  owed,
  refuseFinish,
  toSale,
} from './cart.ts'
import {
  drawerOf,
  instant,
  moment,
  newCartId,
  newId,
  record,
  recordingOf,
  save,
  say,
  show,
  type Till,
} from './context.ts'
import { fold } from './product-search.ts'
import { showReceipt } from './receipts.ts'
import type { Recording } from './recorder.ts'
import {
  isSale,
  type MovementBody,
  type PaymentType,
  type Product,
  type Recorded,
  type ReturnBody,
  type SaleBody,
  type SaleElement,
} from './records.ts'
import { callService } from './service-calls.ts'
import type { TillState } from './state.ts'
import type { Draft } from './stored.ts'
import { loadLists } from './sync.ts'
import { chooseByCode, readTyped } from './typed.ts'

let audio: AudioContext | undefined

/** A short tone: high for a product that was found, low twice for one that was not. */
function beep(kind: 'found' | 'unknown'): void {
  try {
    audio ??= new AudioContext()
    const tones =
      kind === 'found'
        ? [[1046, 0, 0.07]]
        : [
            [220, 0, 0.12],
            [180, 0.15, 0.2],
          ]
    for (const [frequency = 0, after = 0, length = 0] of tones) {
      const oscillator = audio.createOscillator()
      const gain = audio.createGain()
      gain.gain.value = 0.08
      oscillator.frequency.value = frequency
      oscillator.connect(gain).connect(audio.destination)
      oscillator.start(audio.currentTime + after)
      oscillator.stop(audio.currentTime + after + length)
    }
  } catch {
    // A device without sound sells all the same.
  }
}

export function setCart(till: Till, cart: Cart): void {
  till.store.set({ cart, unknownCode: '' })
  save(till, { cart })
}

/** Takes an item into the sale. */
export function add(till: Till, product: Product, quantity: number, labelled: number | null = null): void {
  const { cart, preferences } = till.store.get()
  const next = addProduct(cart, product, quantity, labelled)
  setCart(till, next)
  say(till, next === cart ? `Uma venda tem no máximo ${MAX_LINES} itens.` : '', next === cart)
  if (preferences.sound) beep('found')
}

/** A code from a scanner, or typed; true if it is known. */
export function addByCode(till: Till, typed: string): boolean {
  const { catalog, preferences } = till.store.get()
  const choice = chooseByCode(catalog, readTyped(typed), preferences.scale)
  if (choice) add(till, choice.product, choice.quantity, choice.labelled)
  return choice !== null
}

export function tellUnknown(till: Till, code: string): void {
  if (till.store.get().preferences.sound) beep('unknown')
  say(till, `Nada encontrado para “${code.slice(0, 60)}”. “Novo produto” cadastra.`, true)
  till.store.set({ unknownCode: code.slice(0, 60) })
}

const typeOf = (till: Till, is: (type: PaymentType) => boolean) => till.store.get().config?.payment_types.find(is)

/** Code of a voucher, without letters that are misread. */
function newVoucher(): string {
  const letters = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'
  const random = crypto.getRandomValues(new Uint8Array(10))
  return Array.from(random, (byte) => letters[byte % letters.length]).join('')
}

const USUAL_DAYS = 90

/** Last day of a voucher that is given now, on the till's calendar. */
function lastDay(till: Till): string {
  const last = new Date(till.now())
  last.setDate(last.getDate() + (till.store.get().config?.company.voucher_days ?? USUAL_DAYS))
  return toDay(last)
}

/** Day of an instant on the till's calendar. */
const toDay = (at: Date): string =>
  [at.getFullYear(), at.getMonth() + 1, at.getDate()].map((part) => String(part).padStart(2, '0')).join('-')

const refundOf = (till: Till, type: PaymentType, cents: number, voucher: string) => ({
  payment_type_id: type.id,
  amount: fromCents(cents),
  ...(voucher !== '' && { voucher, voucher_until: lastDay(till) }),
})

function returnBody(
  till: Till,
  offlineId: string,
  returned: CartReturn,
  customer: Cart['customer'],
  reason: string,
): Omit<ReturnBody, 'refunds'> {
  return {
    offline_id: offlineId,
    sale_offline_id: returned.saleOfflineId,
    reason,
    returned_at: instant(till),
    items: returned.lines.map(({ line, quantity }) => ({ line, quantity: fromThousandths(quantity), restock: true })),
    ...customerOf(customer),
    ...moment(till),
  }
}

/** The return of an exchange: its credit pays the goods that go out; what is over is given in cash, or stays credit. */
function exchangeReturn(
  till: Till,
  offlineId: string,
  cart: Cart,
  credit: PaymentType,
  voucher: string,
  over: PaymentType,
): Recording[] {
  if (!cart.returned) return []
  const refunds =
    over.id === credit.id
      ? [refundOf(till, credit, cart.returned.value, voucher)]
      : [
          ...(exchanged(cart) > 0 ? [refundOf(till, credit, exchanged(cart), voucher)] : []),
          ...(owed(cart) > 0 ? [refundOf(till, over, owed(cart), '')] : []),
        ]
  const body = { ...returnBody(till, `${offlineId}-troca`, cart.returned, cart.customer, 'Troca'), refunds }
  const names = cart.returned.lines.map(({ name }) => name)
  return [recordingOf('returns', body, names)]
}

let isFinishing = false

/** Finishes the sale once, however often the button is pressed. What an exchange leaves over is cash, or a voucher. */
export async function finish(till: Till, over: 'cash' | 'voucher' = 'cash'): Promise<void> {
  if (isFinishing) return
  isFinishing = true
  try {
    await finishCart(till, till.store.get().cart, over)
  } finally {
    isFinishing = false
  }
}

async function finishCart(till: Till, cart: Cart, over: 'cash' | 'voucher'): Promise<void> {
  const refused = refuseFinish(cart)
  if (refused !== null) return say(till, refused, true)
  const credit = typeOf(till, ({ kind }) => kind === 'exchange_credit')
  if (cart.returned && !credit) return say(till, 'Cadastre a forma de pagamento “crédito de troca” no painel.', true)
  const voucher = cart.returned && !cart.customer ? newVoucher() : ''
  const cash = typeOf(till, ({ is_cash }) => is_cash)
  const exchange = cart.returned && credit ? { type: credit, voucher } : null
  const { clockOffsetMs } = till.store.get()
  const offlineId = `${cart.offlineId}-${newCartId()}`
  const sale = toSale(cart, {
    offlineId,
    now: instant(till),
    clockOffsetMs,
    sessionId: drawerOf(till.store.get())?.sessionId ?? null,
    exchange,
  })
  const names = cart.lines.map(({ name }) => name)
  const recordings = [
    ...(exchange
      ? exchangeReturn(till, offlineId, cart, exchange.type, voucher, (over === 'cash' && cash) || exchange.type)
      : []),
    ...(cart.lines.length > 0 ? [recordingOf('sales', sale, names, cart.customer?.name ?? '')] : []),
  ]
  const next = emptyCart(newCartId())
  const recorded = await record(till, recordings, { cart: next })
  if (!recorded) return
  till.store.set({ cart: next })
  const made = recorded.find(isSale)
  const isVoucher = owed(cart) > 0 && voucher !== '' && (over === 'voucher' || !cash)
  const paper = { name: 'voucher', code: voucher, until: lastDay(till) } as const
  if (isVoucher) return show(till, { ...paper, cents: owed(cart), sale: made?.key ?? '' })
  if (made) await showReceipt(till, made)
  else show(till, { name: 'sell' })
  if (owed(cart) > 0)
    say(
      till,
      over === 'cash' && cash ? `Devolva ${formatCents(owed(cart))} ao cliente.` : 'O crédito fica com o cliente.',
    )
}

/** Begins the next sale; a waiting update is taken now. */
export function newSale(till: Till, takeUpdate: () => void): void {
  show(till, { name: 'sell' })
  if (till.store.get().hasUpdate && isEmpty(till.store.get().cart)) takeUpdate()
}

export async function cancelSale(till: Till, sale: Recorded<SaleElement>): Promise<void> {
  const { till: link, ...rest } = sale.element
  const body: SaleBody = { ...rest, status: 'cancelled', cancelled_at: instant(till), ...moment(till) }
  if (!(await record(till, [recordingOf('sales', body, sale.names, sale.customer)]))) return
  show(till, { name: 'sell' })
  say(till, `Venda ${link.number} cancelada.`)
}

/** What a sale has left to give back, by line: quantities in thousandths, values in cents. */
export function returnable(records: readonly Recorded[], sale: Recorded<SaleElement>) {
  const { items, total } = sale.element
  const taken = items.map(() => 0)
  for (const { kind, element } of records) {
    if (kind !== 'returns' || (element as unknown as ReturnBody).sale_offline_id !== sale.element.offline_id) continue
    for (const { line, quantity } of (element as unknown as ReturnBody).items)
      taken[line] = (taken[line] ?? 0) + toThousandths(quantity)
  }
  const sum = items.reduce((all, item) => all + toCents(item.total), 0)
  return items.map((item, line) => {
    const quantity = toThousandths(item.quantity)
    // The line's share of the sale's discount goes with it.
    const paid = sum === 0 ? 0 : Math.floor((toCents(item.total) * toCents(total)) / sum)
    return { line, name: sale.names[line] ?? '', quantity, left: quantity - (taken[line] ?? 0), paid }
  })
}

export const isCancelled = (records: readonly Recorded[], sale: Recorded<SaleElement>): boolean =>
  records.some(
    (record) =>
      isSale(record) && record.element.offline_id === sale.element.offline_id && record.element.status === 'cancelled',
  )

export function returnOf(
  records: readonly Recorded[],
  sale: Recorded<SaleElement>,
  quantities: ReadonlyMap<number, number>,
): CartReturn | null {
  const lines = returnable(records, sale).flatMap(({ line, name, quantity, left, paid }) => {
    const back = Math.min(quantities.get(line) ?? 0, left)
    return back > 0 ? [{ line, name, quantity: back, value: Math.floor((paid * back) / quantity) }] : []
  })
  if (lines.length === 0) return null
  const { customer_id: id = 0, offline_customer_id: offlineId = null } = sale.element
  return {
    customer: id > 0 || offlineId !== null ? { id, offlineId, name: sale.customer, document: '', credit: 0 } : null,
    saleOfflineId: sale.element.offline_id,
    lines: lines.map(({ line, name, quantity }) => ({ line, name, quantity })),
    value: lines.reduce((sum, { value }) => sum + value, 0),
  }
}

/** Goods back for money or credit, without other goods. */
export async function giveBack(till: Till, returned: CartReturn, type: PaymentType): Promise<void> {
  const isCredit = type.kind === 'exchange_credit'
  const customer = returned.customer ?? till.store.get().cart.customer
  const voucher = isCredit && !customer ? newVoucher() : ''
  const refunds = returned.value > 0 ? [refundOf(till, type, returned.value, voucher)] : []
  const body = { ...returnBody(till, newId(), returned, customer, 'Devolução'), refunds }
  const names = returned.lines.map(({ name }) => name)
  if (!(await record(till, [recordingOf('returns', body, names)]))) return
  const paper = { name: 'voucher', code: voucher, until: lastDay(till) } as const
  if (voucher !== '') return show(till, { ...paper, cents: returned.value, sale: '' })
  show(till, { name: 'sell' })
  say(till, isCredit ? 'O crédito fica com o cliente.' : `Devolva ${formatCents(returned.value)}.`)
}

/** A voucher that the service was asked for. */
interface AskedVoucher {
  readonly balance: number
  readonly valid_until: string | null
}

/**
 * Why a voucher does not pay so much, and since when it is expired, which the operator decides; nulls if the service
 * cannot be asked: it then tells later.
 */
export async function judgeVoucher(
  till: Till,
  cart: Cart,
  voucher: string,
  cents: number,
): Promise<{ readonly refused: string | null; readonly expired: string | null }> {
  const { current, connection } = till.store.get()
  const unknown = { refused: null, expired: null }
  if (voucher === '' || connection !== 'connected') return unknown
  try {
    const { balance, valid_until } = await callService<AskedVoucher>(
      `/sync/vouchers?${new URLSearchParams({ voucher })}`,
      { token: current?.token ?? null },
    )
    const used = cart.payments.reduce((sum, each) => sum + (each.voucher === voucher ? each.given : 0), cents)
    if (used > toCents(balance)) return { ...unknown, refused: `Este vale tem ${formatCents(toCents(balance))}.` }
    const isExpired = valid_until !== null && toDay(new Date(till.now())) > valid_until
    return { ...unknown, expired: isExpired ? `Este vale valeu até ${printedDay(valid_until)}.` : null }
  } catch {
    return unknown
  }
}

/** `2027-02-19` as receipts print it. */
export const printedDay = (day: string): string => day.split('-').reverse().join('/')

/** Vouchers that were given at this till, the newest first; what an exchange has used up at once is none. */
export const vouchersOf = (records: readonly Recorded[]) => {
  const spent = new Map<string, number>()
  for (const { element } of records.filter(isSale))
    for (const { voucher = '', amount } of element.payments)
      spent.set(voucher, (spent.get(voucher) ?? 0) + toCents(amount))
  return records
    .flatMap(({ kind, element }) => (kind === 'returns' ? [element as unknown as ReturnBody] : []))
    .flatMap(({ refunds, returned_at: at }) =>
      refunds.map(({ voucher = '', voucher_until: until = '', amount }) => {
        return { voucher, at, until, amount: toCents(amount) - (spent.get(voucher) ?? 0) }
      }),
    )
    .filter(({ voucher, amount }) => voucher !== '' && amount > 0)
    .toReversed()
}

/** Opens, supplies, bleeds or closes the drawer. */
export async function moveCash(till: Till, kind: MovementBody['kind'], cents: number, reason: string): Promise<void> {
  const { clockOffsetMs } = till.store.get()
  const drawer = drawerOf(till.store.get())
  const at = instant(till)
  const sessionId = kind === 'opened' ? newId() : drawer?.sessionId
  if (sessionId === undefined) return
  const body: MovementBody = {
    offline_id: newId(),
    session_id: sessionId,
    kind,
    amount: kind === 'closed' ? null : fromCents(cents),
    at,
    ...(reason !== '' && { reason }),
    ...(kind === 'closed' && { counted: { cash: fromCents(cents) } }),
    clock_offset_ms: clockOffsetMs,
  }
  const opened = { sessionId, openedAt: at, float: cents }
  const next = kind === 'opened' ? opened : kind === 'closed' ? null : drawer
  if (!(await record(till, [recordingOf('cash', body)], { drawer: next }))) return
  till.store.set({ drawer: next })
  show(till, { name: 'sell' })
  say(till, MOVED[kind])
}

/** The person's drawer that is open in the panel and was not closed here; null if there is none. */
export function offeredDrawer({ config, current, records }: Pick<TillState, 'config' | 'current' | 'records'>) {
  const open = config?.user.id === current?.userId ? (config?.drawer ?? null) : null
  const isClosed = records.some(({ kind, element }) => {
    const { session_id, kind: moved } = element as unknown as MovementBody
    return kind === 'cash' && moved === 'closed' && session_id === open?.session_id
  })
  return isClosed ? null : open
}

/** Sales and movements go into the person's drawer of the panel. */
export function takeDrawer(till: Till): void {
  const { current } = till.store.get()
  const open = offeredDrawer(till.store.get())
  if (!open || !current) return
  const drawer = { sessionId: open.session_id, openedAt: open.opened_at, float: 0, ownerId: current.userId }
  till.store.set({ drawer })
  save(till, { drawer })
  show(till, { name: 'sell' })
  say(till, 'Gaveta do painel em uso.')
}

const MOVED = {
  opened: 'Caixa aberto.',
  in: 'Suprimento registrado.',
  out: 'Sangria registrada.',
  closed: 'Caixa fechado. A conferência aparece no painel.',
} as const

async function keepDraft(till: Till, kind: Draft['kind'], body: object): Promise<string> {
  const offlineId = newId()
  await till.storage.putDraft({ offlineId, kind, body, state: 'waiting', note: '' })
  await loadLists(till.store, till.storage)
  till.sync.wake()
  return offlineId
}

export interface NewProduct {
  readonly name: string
  /** Cents. */
  readonly price: number
  readonly barcode: string
  readonly unit: string
}

/** A product that is typed in at the till goes into the sale at once. */
export async function addNewProduct(till: Till, { name, price, barcode, unit }: NewProduct): Promise<void> {
  const body = { name, price: fromCents(price), unit, ...(barcode !== '' && { barcode }) }
  const offlineId = await keepDraft(till, 'item', body)
  add(till, { id: 0, offlineId, name, barcode, sku: '', unit, price, folded: fold(name) }, 1000)
}

export async function addNewCustomer(till: Till, name: string, document: string): Promise<void> {
  const offlineId = await keepDraft(till, 'customer', { name, ...(document !== '' && { document }) })
  const customer = { id: 0, offlineId, name, document, credit: 0 }
  setCart(till, { ...till.store.get().cart, customer })
}

export function park(till: Till): void {
  const { cart, parked } = till.store.get()
  if (isEmpty(cart)) return
  const name = cart.customer?.name ?? `${cart.lines.length} ${cart.lines.length === 1 ? 'item' : 'itens'}`
  const next = emptyCart(newCartId())
  const all = [
    ...parked,
    { cart: { ...cart, payments: [] }, at: instant(till), name: `${name}, ${formatCents(cartTotal(cart))}` },
  ]
  till.store.set({ cart: next, parked: all })
  save(till, { cart: next, parked: all })
  say(till, 'Venda guardada.')
}

export function unpark(till: Till, at: number): void {
  const { parked, cart } = till.store.get()
  const taken = parked[at]
  if (!taken || !isEmpty(cart)) return
  const rest = parked.filter((_, place) => place !== at)
  till.store.set({ cart: taken.cart, parked: rest })
  save(till, { cart: taken.cart, parked: rest })
  show(till, { name: 'sell' })
}
