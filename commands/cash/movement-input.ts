import * as z from 'zod'
import { Instant } from '#domain/instant.ts'
import { JsonMoney } from '#domain/json-number.ts'
import { REQUIRED_FIELD } from '#domain/portuguese.ts'
import { Id, limitedText, optionalText } from '#domain/text.ts'
import { CASH_MOVEMENT_KINDS } from '#events/cash.ts'
import { OfflineId } from '../sales/offline-sale-input.ts'

/** Payment types that a closing may count. */
const MAX_COUNTED = 100

/** Counted money: of the drawer under `cash`, of other payment types under their ids. */
const Counted = z
  .record(limitedText(20).regex(/^(cash|[1-9]\d{0,14})$/, 'deve ser cash ou o id de uma forma de pagamento'), JsonMoney)
  .refine((counted) => Object.keys(counted).length <= MAX_COUNTED, `no máximo ${MAX_COUNTED} formas de pagamento`)

const shape = z.object({
  offline_id: OfflineId,
  session_id: OfflineId,
  kind: z.enum(CASH_MOVEMENT_KINDS),
  amount: JsonMoney.nullish(),
  at: Instant,
  reason: optionalText(500),
  receivable_id: Id.nullish(),
  counted: Counted.nullish(),
})

/** Movement of a till's drawer as it is uploaded (CASH-2). Unknown fields are ignored: tills of many versions upload. */
export interface CashMovementUpload {
  readonly offline_id: string
  readonly session_id: string
  readonly kind: (typeof CASH_MOVEMENT_KINDS)[number]
  /** Null if the drawer is closed. */
  readonly amount: string | null
  /** UTC */
  readonly at: string
  readonly reason: string | null
  readonly receivable_id: number | null
  readonly counted: Readonly<Record<string, string>> | null
  /** User who is logged in at the till; not part of what the till sends. */
  readonly userId?: number
  /** From books that are older than the records here: its age is no sign of a wrong clock. Not sent by tills. */
  readonly isHistory?: true
}

export const CashMovementInput: z.ZodType<CashMovementUpload> = shape
  .superRefine(({ kind, amount = null, receivable_id = null, counted = null }, context) => {
    const wrong = (field: string, message: string) => context.addIssue({ code: 'custom', path: [field], message })
    if (kind === 'closed' ? amount !== null : amount === null)
      wrong('amount', kind === 'closed' ? 'não existe no fechamento: envie null' : REQUIRED_FIELD)
    if (kind !== 'closed' && kind !== 'opened' && amount === '0.00') wrong('amount', 'deve ser maior que zero')
    if (kind !== 'closed' && counted !== null) wrong('counted', 'só existe no fechamento')
    if (kind === 'received' ? receivable_id === null : receivable_id !== null)
      wrong('receivable_id', kind === 'received' ? REQUIRED_FIELD : 'só existe em received')
  })
  .transform(({ amount = null, reason = null, receivable_id = null, counted = null, ...movement }) => ({
    ...movement,
    amount,
    reason,
    receivable_id,
    counted,
  }))
