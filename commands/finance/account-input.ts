import * as z from 'zod'
import { CalendarDate, Instant } from '#domain/instant.ts'
import { MetadataInput } from '#domain/metadata.ts'
import { Money } from '#domain/money.ts'
import { REQUIRED_FIELD } from '#domain/portuguese.ts'
import { boundedText, Id, NewExternalId, optionalText } from '#domain/text.ts'
import { isJsonObject } from '#lib/json-members.ts'

/** Greater than zero. */
const Amount = Money.refine((value) => value !== '0.00', 'deve ser maior que zero')

const externalId = { external_id: NewExternalId.nullish() }

/** Fields of a whole account except external id and counterparty: POST, PUT and batch items. */
export const accountShape = {
  description: boundedText(200),
  amount: Amount,
  due_date: CalendarDate,
  /** Absent: unchanged, also in a PUT. */
  metadata: MetadataInput.nullish(),
}

/** Fields of PATCH; absent ones stay unchanged. */
export const accountChangesShape = { ...externalId, ...z.strictObject(accountShape).partial().shape }

const account = z.strictObject({ ...externalId, ...accountShape })
export type AccountInput = z.infer<typeof account>

/** Of POST. */
export type NewAccountInput = Omit<AccountInput, 'due_date'> & {
  readonly due_date?: string | undefined
  readonly installments?: Installments | null | undefined
}

/** Counterparty in an input: one of its ids. Null: none; absent in a PATCH: unchanged. */
export interface PartyName {
  readonly id?: number | null
  readonly external_id?: string | null
}

/** For `superRefine`: allows only one of the two ids, since two could mean two parties. */
export function checkParty<N>(field: string, named: (input: N) => PartyName) {
  return (input: N, context: z.RefinementCtx): void => {
    const { id, external_id } = named(input)
    if (typeof id !== 'number' || typeof external_id !== 'string') return
    const message = `informe somente um entre ${field}_id e ${field}_external_id`
    context.addIssue({ code: 'custom', path: [`${field}_external_id`], message })
  }
}

/** Interval of instalments: a month, or so many days. */
const Interval = z.union(
  [z.literal('month'), z.int().min(1).max(365)],
  'deve ser "month" ou um número de dias de 1 a 365',
)

/** Creates several accounts that add up to the amount (ACCT-107). */
const Installments = z
  .strictObject({ count: z.int().min(1).max(120), first_due_date: CalendarDate, interval: Interval })
  .meta({ id: 'InstallmentsInput' })
type Installments = z.infer<typeof Installments>

/** Fields of POST: the due date may be left out where instalments say theirs. */
const newAccountShape = {
  ...accountShape,
  due_date: CalendarDate.optional(),
  installments: Installments.nullish(),
}

/** Body of POST: instalments say the due dates themselves. */
export const newAccount = <S extends z.ZodRawShape>(shape: S) =>
  z
    .strictObject({ external_id: NewExternalId.nullish(), ...newAccountShape, ...shape })
    .refine(
      (body: { due_date?: unknown; installments?: unknown }) => (body.due_date ?? body.installments) !== undefined,
      {
        when: ({ value }) => isJsonObject(value),
        path: ['due_date'],
        error: REQUIRED_FIELD,
      },
    )

/** Body of a settlement (ACCT-5). The amount is only checked. */
export const Settlement = z.strictObject({
  paid_at: Instant.nullish(),
  payment_method: boundedText(60),
  amount: Money.nullish(),
})

/** Body of a payment (ACCT-100); received is amount + interest + fine - discount. */
export const AccountPaymentBody = z.strictObject({
  amount: Amount,
  paid_at: Instant.nullish(),
  payment_method: optionalText(60),
  interest: Money.nullish(),
  fine: Money.nullish(),
  discount: Money.nullish(),
})

export const AccountPaymentInput = z.strictObject({ id: Id, ...AccountPaymentBody.shape })
export type AccountPaymentInput = z.infer<typeof AccountPaymentInput>

/** Body of a reversal (ACCT-104). */
export const PaymentReversal = z.strictObject({ reason: boundedText(500) })

export const ReversalInput = z.strictObject({ id: Id, payment_id: Id, ...PaymentReversal.shape })
export type ReversalInput = z.infer<typeof ReversalInput>

export const SettleInput = z.strictObject({ id: Id, ...Settlement.shape })
export type SettleInput = z.infer<typeof SettleInput>
