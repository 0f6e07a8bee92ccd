import { randomInt } from 'node:crypto'
import { z } from 'zod'
import { cardOptions, instructionsOf } from './methods.ts'

/** What can happen to a payment at the provider, and from where. */
export const MOVES = {
  approve: { from: ['pending'], status: 'approved', detail: 'accredited' },
  expire: { from: ['pending'], status: 'cancelled', detail: 'expired' },
  reject: { from: ['pending'], status: 'rejected', detail: 'cc_rejected_other_reason' },
  cancel: { from: ['pending'], status: 'cancelled', detail: 'by_collector' },
  refund: { from: ['approved'], status: 'refunded', detail: 'refunded' },
  'charge-back': { from: ['approved'], status: 'charged_back', detail: 'settled' },
} as const

export type Move = keyof typeof MOVES

type Status = 'pending' | (typeof MOVES)[Move]['status']

/** A payment as the provider's API shows it; fields that no client here reads are left out. */
export interface SandboxPayment {
  readonly id: number
  readonly status: Status
  readonly status_detail: string
  readonly external_reference: string | null
  readonly transaction_amount: number
  readonly currency_id: 'BRL'
  readonly application_fee: number
  readonly payment_method_id: string
  readonly payer: Charge['payer']
  readonly installments: number
  readonly date_of_expiration: string | null
  readonly point_of_interaction?: object
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

/** Of a boleto the provider wants to know all of whom pays. */
const WholePayer = Payer.required()

/** What a payment is made with. */
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

/** What is wrong with a charge beyond its shape; null when nothing is. */
export function chargeProblem({ payment_method_id, payer, transaction_amount, ...charge }: Charge): Cause | null {
  if (payment_method_id === 'bolbradesco' && !WholePayer.safeParse(payer).success)
    return [2034, 'Invalid payer: a boleto needs name, identification and address']
  if (charge.token === undefined) return null
  const offered = cardOptions(payment_method_id, transaction_amount).payer_costs
  return offered.some(({ installments }) => installments === (charge.installments ?? 1))
    ? null
    : [3028, 'Invalid installments']
}

export type Cause = readonly [code: number, description: string]

/** The provider's record: payments by account, which is its access token. In memory, gone with the process. */
export interface Book {
  /** Makes a payment: pending, or decided at once by a card token that says so. */
  charge(account: string, charge: Charge): SandboxPayment
  /** A payment of one account, or of any when none is named. */
  get(id: string, account?: string): SandboxPayment | null
  /** Newest first. */
  find(account: string, externalReference: string): SandboxPayment[]
  all(): SandboxPayment[]
  /** Null when the payment is not where the move begins. */
  move(id: string, move: Move): SandboxPayment | null
  accountOf(id: string): string | null
}

interface Kept {
  readonly account: string
  payment: SandboxPayment
}

/** Card tokens that decide at once; any other leaves the payment pending. */
const DECIDING: Readonly<Record<string, Move>> = { APRO: 'approve', OTHE: 'reject' }

const FIRST_ID = 1_300_000_000

/** `liveMode` is what the payments say of themselves: a sandbox is none, unless a test wants to see a production store. */
export function createBook({ now, liveMode }: { now: () => Date; liveMode: boolean }): Book {
  const payments = new Map<string, Kept>()
  // Ids of several runs should not meet in the ledger of one shop.
  let lastId = FIRST_ID + randomInt(1_000_000) * 1_000

  function moved(payment: SandboxPayment, move: Move): SandboxPayment {
    const { status, detail } = MOVES[move]
    return { ...payment, status, status_detail: detail, date_last_updated: now().toISOString() }
  }

  /** A payment as it is by now: one that nobody paid in time has expired. */
  function current(id: string): Kept | undefined {
    const found = payments.get(id)
    const expires = found?.payment.date_of_expiration
    if (found?.payment.status === 'pending' && expires && Date.parse(expires) <= now().getTime())
      found.payment = moved(found.payment, 'expire')
    return found
  }

  return {
    charge(account, { token, ...charge }) {
      const at = now().toISOString()
      const pending: SandboxPayment = {
        id: ++lastId,
        status: 'pending',
        status_detail: 'pending_waiting_payment',
        external_reference: charge.external_reference ?? null,
        transaction_amount: charge.transaction_amount,
        currency_id: 'BRL',
        application_fee: charge.application_fee ?? 0,
        payment_method_id: charge.payment_method_id,
        payer: charge.payer,
        installments: charge.installments ?? 1,
        date_of_expiration: charge.date_of_expiration ?? null,
        ...instructionsOf(lastId, { ...charge, token }),
        description: charge.description ?? null,
        notification_url: charge.notification_url ?? null,
        live_mode: liveMode,
        metadata: charge.metadata ?? {},
        date_created: at,
        date_last_updated: at,
      }
      const decision = token === undefined ? undefined : DECIDING[token]
      const payment = decision ? moved(pending, decision) : pending
      payments.set(String(payment.id), { account, payment })
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
    move(id, move) {
      const found = current(id)
      const from: readonly Status[] = MOVES[move].from
      if (!found || !from.includes(found.payment.status)) return null
      found.payment = moved(found.payment, move)
      return found.payment
    },
    accountOf: (id) => payments.get(id)?.account ?? null,
  }
}
