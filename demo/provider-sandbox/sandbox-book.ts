import { randomInt } from 'node:crypto'
import * as z from 'zod'
import { ownValue } from '#lib/collections.ts'

/** Settings of the simulated OAuth. */
export interface Connections {
  /** Lifetime of issued access tokens, in seconds. */
  token_seconds: number
  /** Whether refresh tokens are refused, as after the owner has revoked the service's access. */
  revoked: boolean
}

/** 180 days, like the real provider. */
const TOKEN_SECONDS = 15_552_000

export const newConnections = (): Connections => ({ token_seconds: TOKEN_SECONDS, revoked: false })

/** Offered payment methods; `bins`: first digits of a brand's cards. */
export const METHODS: readonly { id: string; payment_type_id: string; status: string; bins: readonly string[] }[] = [
  { id: 'pix', payment_type_id: 'bank_transfer', status: 'active', bins: [] },
  { id: 'bolbradesco', payment_type_id: 'ticket', status: 'active', bins: [] },
  { id: 'visa', payment_type_id: 'credit_card', status: 'active', bins: ['4'] },
  { id: 'master', payment_type_id: 'credit_card', status: 'active', bins: ['5'] },
  { id: 'elo', payment_type_id: 'credit_card', status: 'active', bins: ['636'] },
  { id: 'amex', payment_type_id: 'credit_card', status: 'active', bins: ['37'] },
]

const MOST_INSTALLMENTS = 12
/** Minimum of an instalment. */
const LEAST_INSTALLMENT_CENTS = 500
const INTEREST_PER_INSTALLMENT = 0.03

/** Instalment options of a card; several instalments cost interest. */
export function cardOptions(brand: string, amount: number) {
  const cents = Math.round(amount * 100)
  const counts = Array.from({ length: MOST_INSTALLMENTS }, (_, n) => n + 1)
  const payer_costs = counts
    .filter((installments) => installments === 1 || cents / installments >= LEAST_INSTALLMENT_CENTS)
    .map((installments) => {
      const interest = installments === 1 ? 0 : INTEREST_PER_INSTALLMENT * (installments - 1)
      const each = Math.ceil((cents * (1 + interest)) / installments)
      return { installments, installment_amount: each / 100, total_amount: (each * installments) / 100 }
    })
  return { payment_method_id: brand, payment_type_id: 'credit_card', payer_costs }
}

/** Code (ISPB) of the simulated bank of buyers. */
const BANK = '00038166'

interface PixPayment {
  readonly id: number
  readonly status: string
  readonly date_last_updated: string
  readonly payment_method_id: string
  readonly point_of_interaction?: { readonly transaction_data: object }
}

/** The payment; a paid Pix with the end-to-end id that banks gave it: bank, minute, and a number of the bank's. */
function withEndToEnd<P extends PixPayment>(payment: P): P {
  const { id, status, date_last_updated: at, payment_method_id, point_of_interaction: pix } = payment
  if (status !== 'approved' || payment_method_id !== 'pix' || !pix || 'e2e_id' in pix.transaction_data) return payment
  const e2e_id = `E${BANK}${at.replace(/\D/g, '').slice(0, 12)}${String(id).padStart(11, '0')}`
  const transaction_data = { ...pix.transaction_data, e2e_id, transaction_id: `PIX${e2e_id}` }
  return { ...payment, point_of_interaction: { transaction_data } }
}

/** A PNG of one pixel, since sandbox payments are never scanned. */
const PICTURE = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

/** Payment details of a new payment, in the provider's format. */
function toInstructions(
  id: number,
  charge: { payment_method_id: string; transaction_amount: number; token?: string | undefined },
): object {
  const { payment_method_id, transaction_amount, token } = charge
  const ticket_url = `https://sandbox.example/payments/${id}/ticket`
  if (payment_method_id === 'pix') {
    const qr_code = `00020126580014br.gov.bcb.pix0136sandbox-${id}5303986540${transaction_amount.toFixed(2)}5802BR6304ABCD`
    return { point_of_interaction: { transaction_data: { qr_code, qr_code_base64: PICTURE, ticket_url } } }
  }
  if (payment_method_id === 'bolbradesco') {
    const content = `2379${String(id).padStart(40, '0')}`
    const digitable_line = `23793${String(id).padStart(42, '0')}`
    return { transaction_details: { barcode: { content }, digitable_line, external_resource_url: ticket_url } }
  }
  return token === undefined ? {} : { card: { first_six_digits: '423564', last_four_digits: '5682' } }
}

/** Transitions of a payment at the provider, with their initial states. */
export const MOVES = {
  approve: { from: ['pending'], status: 'approved', detail: 'accredited' },
  expire: { from: ['pending'], status: 'cancelled', detail: 'expired' },
  reject: { from: ['pending'], status: 'rejected', detail: 'cc_rejected_other_reason' },
  cancel: { from: ['pending'], status: 'cancelled', detail: 'by_collector' },
  refund: { from: ['approved', 'in_mediation'], status: 'refunded', detail: 'refunded' },
  mediate: { from: ['approved'], status: 'in_mediation', detail: 'pending' },
  'settle-mediation': { from: ['in_mediation'], status: 'approved', detail: 'accredited' },
  'charge-back': { from: ['approved', 'in_mediation'], status: 'charged_back', detail: 'in_process' },
  'lose-dispute': { from: ['charged_back'], status: 'charged_back', detail: 'settled' },
  'win-dispute': { from: ['charged_back'], status: 'charged_back', detail: 'reimbursed' },
} as const

export type Move = keyof typeof MOVES

/** What happens to refunds of a payment: the next one stays in process, and the oldest in process is decided. */
export const REFUND_MOVES = ['refund-in-process', 'refund-done', 'refund-rejected'] as const
type RefundMove = (typeof REFUND_MOVES)[number]

export type AnyMove = Move | RefundMove
export const ALL_MOVES: readonly AnyMove[] = [...(Object.keys(MOVES) as Move[]), ...REFUND_MOVES]

const isRefundMove = (move: AnyMove): move is RefundMove => REFUND_MOVES.some((each) => each === move)

type Status = 'pending' | (typeof MOVES)[Move]['status']

/** Payment as in the provider's API, without fields that no client reads here. */
export interface SandboxPayment {
  readonly id: number
  readonly status: Status
  readonly status_detail: string
  readonly external_reference: string | null
  readonly transaction_amount: number
  readonly transaction_amount_refunded: number
  readonly refunds: readonly SandboxRefund[]
  readonly currency_id: 'BRL'
  readonly application_fee: number
  readonly payment_method_id: string
  readonly payer: Charge['payer']
  readonly installments: number
  readonly date_of_expiration: string | null
  readonly point_of_interaction?: { readonly transaction_data: object }
  readonly transaction_details?: object
  readonly card?: object
  readonly description: string | null
  readonly notification_url: string | null
  readonly live_mode: boolean
  readonly metadata: object
  readonly date_created: string
  readonly date_last_updated: string
}

const Address = z.object({
  zip_code: z.string().regex(/^\d{8}$/),
  street_name: z.string().min(1),
  street_number: z.string().min(1),
  neighborhood: z.string().min(1),
  city: z.string().min(1),
  federal_unit: z.string().length(2),
})

const Payer = z.object({
  email: z.email(),
  first_name: z.string().optional(),
  last_name: z.string().optional(),
  identification: z.object({ type: z.enum(['CPF', 'CNPJ']), number: z.string().min(11) }).optional(),
  address: Address.optional(),
})

/** A boleto requires all fields of the payer. */
const WholePayer = Payer.required()

/** Refund as in the provider's API. */
export interface SandboxRefund {
  readonly id: number
  readonly payment_id: number
  readonly amount: number
  readonly status: 'approved' | 'in_process' | 'rejected'
  readonly date_created: string
}

/** Body of a payment. */
export const Charge = z.object({
  transaction_amount: z.number().positive(),
  payment_method_id: z.string().min(1),
  payer: Payer,
  token: z.string().optional(),
  installments: z.int().positive().optional(),
  date_of_expiration: z.iso.datetime({ offset: true }).optional(),
  external_reference: z.string().max(256).optional(),
  notification_url: z.url().optional(),
  application_fee: z.number().nonnegative().optional(),
  description: z.string().max(600).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
})
export type Charge = z.infer<typeof Charge>

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
/** A boleto is due in whole days; the call takes some time. */
const LEAST_MS: Readonly<Record<string, number>> = { pix: 30 * MINUTE_MS, bolbradesco: DAY_MS - MINUTE_MS }

function isPayableLongEnough(method: string, until: string | undefined, now: Date): boolean {
  if (until === undefined) return true
  const left = Date.parse(until) - now.getTime()
  return left >= (ownValue(LEAST_MS, method) ?? 0) && left <= 30 * DAY_MS
}

/** Problem of a charge beyond its shape; null if valid. */
export function chargeProblem(
  { payment_method_id, payer, transaction_amount, ...charge }: Charge,
  now: Date,
): Cause | null {
  if (!isPayableLongEnough(payment_method_id, charge.date_of_expiration, now))
    return [4050, 'date_of_expiration must be 30 minutes (a boleto: a day) to 30 days after the issue']
  if (payment_method_id === 'bolbradesco' && !WholePayer.safeParse(payer).success)
    return [4050, 'Invalid payer: a boleto needs name, identification and address']
  if (charge.token === undefined) return null
  const offered = cardOptions(payment_method_id, transaction_amount).payer_costs
  return offered.some(({ installments }) => installments === (charge.installments ?? 1))
    ? null
    : [3028, 'Invalid installments']
}

export type Cause = readonly [code: number, description: string]

/** The provider's records: payments by account (access token). In memory only. */
export interface Book {
  /** Creates a payment: pending, or decided at once by a special card token. */
  charge(account: string, charge: Charge): SandboxPayment
  /** Payment of an account, or of any account if none is given. */
  get(id: string, account?: string): SandboxPayment | null
  /** Newest first. */
  find(account: string, externalReference: string): SandboxPayment[]
  all(): SandboxPayment[]
  /** Refunds an amount, or all that is left; null if the payment has less left. */
  refund(id: string, amount: number | null): SandboxRefund | null
  /** Possible next transitions. */
  moves(id: string): AnyMove[]
  /** Null if the transition does not apply. */
  move(id: string, move: AnyMove): SandboxPayment | null
  accountOf(id: string): string | null
}

interface Kept {
  readonly account: string
  payment: SandboxPayment
  /** Whether the next refund stays in process. */
  isDelayed: boolean
}

const cents = (amount: number): number => Math.round(amount * 100)

/** Card tokens that decide at once; others leave the payment pending. */
const DECIDING: Readonly<Record<string, Move>> = { APRO: 'approve', OTHE: 'reject' }

const FIRST_ID = 1_300_000_000

function pendingPayment(
  id: number,
  charge: Charge,
  { at, liveMode }: { at: string; liveMode: boolean },
): SandboxPayment {
  return {
    id,
    status: 'pending',
    status_detail: 'pending_waiting_payment',
    external_reference: charge.external_reference ?? null,
    transaction_amount: charge.transaction_amount,
    transaction_amount_refunded: 0,
    refunds: [],
    currency_id: 'BRL',
    application_fee: charge.application_fee ?? 0,
    payment_method_id: charge.payment_method_id,
    payer: charge.payer,
    installments: charge.installments ?? 1,
    date_of_expiration: charge.date_of_expiration ?? null,
    ...toInstructions(id, charge),
    description: charge.description ?? null,
    notification_url: charge.notification_url ?? null,
    live_mode: liveMode,
    metadata: charge.metadata ?? {},
    date_created: at,
    date_last_updated: at,
  }
}

/** Payment with its refunds, and the state that follows from those made. */
function withRefunds(payment: SandboxPayment, refunds: readonly SandboxRefund[], at: string): SandboxPayment {
  const given = refunds.reduce((sum, { status, amount }) => (status === 'approved' ? sum + cents(amount) : sum), 0)
  const { status, detail } = MOVES.refund
  const isWhole = given === cents(payment.transaction_amount)
  const state = isWhole ? { status, status_detail: detail } : given > 0 && { status_detail: 'partially_refunded' }
  return { ...payment, ...state, transaction_amount_refunded: given / 100, refunds, date_last_updated: at }
}

/** Payment after a refund of an amount, or of all that is left; null if it has less left. */
function givenBack(
  { payment, isDelayed }: Kept,
  amount: number | null,
  { id, at }: { id: number; at: string },
): { refund: SandboxRefund; payment: SandboxPayment } | null {
  const taken = payment.refunds.filter(({ status }) => status !== 'rejected')
  const left = cents(payment.transaction_amount) - taken.reduce((sum, refund) => sum + cents(refund.amount), 0)
  const given = amount === null ? left : cents(amount)
  if (given <= 0 || given > left) return null
  const status = isDelayed ? 'in_process' : 'approved'
  const refund: SandboxRefund = { id, payment_id: payment.id, amount: given / 100, status, date_created: at }
  return { refund, payment: withRefunds(payment, [...payment.refunds, refund], at) }
}

/** Whether the refund transition applies. */
function mayMoveRefund({ payment, isDelayed }: Kept, move: RefundMove): boolean {
  if (move !== 'refund-in-process') return payment.refunds.some(({ status }) => status === 'in_process')
  return !isDelayed && MOVES.refund.from.some((status) => status === payment.status)
}

/** Decides the oldest refund in process. */
function decided(payment: SandboxPayment, status: SandboxRefund['status'], at: string): SandboxPayment {
  const first = payment.refunds.find((refund) => refund.status === 'in_process')
  const refunds = payment.refunds.map((refund) => (refund === first ? { ...refund, status } : refund))
  return withRefunds(payment, refunds, at)
}

/** Whether a transition applies to a payment. Decided payments stay decided. */
function mayMove({ status, status_detail }: SandboxPayment, move: Move): boolean {
  const { from, detail } = MOVES[move]
  return from.some((one) => one === status) && status_detail !== detail && status_detail !== 'reimbursed'
}

/** `liveMode` of all payments: false in a sandbox, unless a test simulates a production store. */
export function createBook({ now, liveMode }: { now: () => Date; liveMode: boolean }): Book {
  const payments = new Map<string, Kept>()
  // Random start, so that ids of several runs do not collide in a ledger.
  let lastId = FIRST_ID + randomInt(1_000_000) * 1_000

  function moved(payment: SandboxPayment, move: Move): SandboxPayment {
    const { status, detail } = MOVES[move]
    return withEndToEnd({ ...payment, status, status_detail: detail, date_last_updated: after(payment) })
  }

  /** Change times of a payment are distinct, because they order its states. */
  const after = ({ date_last_updated }: SandboxPayment): string =>
    new Date(Math.max(now().getTime(), Date.parse(date_last_updated) + 1)).toISOString()

  function moveRefund(kept: Kept, move: RefundMove): SandboxPayment | null {
    if (!mayMoveRefund(kept, move)) return null
    if (move === 'refund-in-process') kept.isDelayed = true
    else kept.payment = decided(kept.payment, move === 'refund-done' ? 'approved' : 'rejected', after(kept.payment))
    return kept.payment
  }

  /** Current payment: expired if its deadline has passed. */
  function current(id: string): Kept | undefined {
    const found = payments.get(id)
    const expires = found?.payment.date_of_expiration
    if (found?.payment.status === 'pending' && expires && Date.parse(expires) <= now().getTime())
      found.payment = moved(found.payment, 'expire')
    return found
  }

  return {
    charge(account, { token, ...charge }) {
      const pending = pendingPayment(++lastId, { token, ...charge }, { at: now().toISOString(), liveMode })
      const decision = token === undefined ? undefined : ownValue(DECIDING, token)
      const payment = decision ? moved(pending, decision) : pending
      payments.set(String(payment.id), { account, payment, isDelayed: false })
      return payment
    },
    get(id, account) {
      const found = current(id)
      return found && (account === undefined || found.account === account) ? found.payment : null
    },
    find: (account, reference) =>
      [...payments.keys()]
        .map((id) => current(id) as Kept)
        .filter((each) => each.account === account && each.payment.external_reference === reference)
        .map(({ payment }) => payment)
        .reverse(),
    all: () => [...payments.keys()].map((id) => (current(id) as Kept).payment),
    refund(id, amount) {
      const found = current(id)
      if (!found || !MOVES.refund.from.some((status) => status === found.payment.status)) return null
      const given = givenBack(found, amount, { id: lastId + 1, at: after(found.payment) })
      if (!given) return null
      lastId += 1
      found.payment = given.payment
      found.isDelayed = false
      return given.refund
    },
    moves(id) {
      const found = current(id)
      if (!found) return []
      return ALL_MOVES.filter((move) =>
        isRefundMove(move) ? mayMoveRefund(found, move) : mayMove(found.payment, move),
      )
    },
    move(id, move) {
      if (move === 'refund') return this.refund(id, null) && this.get(id)
      const found = current(id)
      if (!found) return null
      if (isRefundMove(move)) return moveRefund(found, move)
      if (!mayMove(found.payment, move)) return null
      found.payment = moved(found.payment, move)
      return found.payment
    },
    accountOf: (id) => payments.get(id)?.account ?? null,
  }
}
