import * as z from 'zod'
import { CalendarDate, Instant } from '#domain/instant.ts'
import { fromCents, Money, toCents } from '#domain/money.ts'
import { instalmentAmounts, instalmentDates } from '#domain/payment-rules.ts'
import { mergeMetadata, wholeMetadata } from '#domain/record-values.ts'
import { type Refusal, refuse, refuseField, refuseForgotten } from '#domain/refusals.ts'
import type { Permission } from '#domain/rights.ts'
import { boundedText, Id, optionalText, REQUIRED_FIELD } from '#domain/text.ts'
import type { DataOf } from '#events/catalogue.ts'
import {
  accept,
  type Command,
  command,
  type Grant,
  isRefusal,
  type NewEvent,
  type Origin,
  type Permit,
} from '#ledger/command.ts'
import type { AnyRef, Ref } from '#ledger/table.ts'
import type { Rows } from '#ledger/working-set.ts'
import { isJsonObject } from '#lib/json.ts'
import { type AccountFields, type AccountRow, type NewAccount, standingPayments } from '#projections/finance.ts'
import type { PersonRow } from '#projections/people.ts'
import { ACCOUNT_FIELDS, PositiveMoney } from '#records/accounts.ts'
import { toRecordedValues, wholeShape } from '#records/field.ts'
import { NamedSession } from './named-drawers.ts'
import { isEmpty, pickChanges, type RecordId, refuseDuplicate } from './record-commands.ts'

type AccountInput = z.infer<z.ZodObject<ReturnType<typeof wholeShape<typeof ACCOUNT_FIELDS>>>>

/** Of POST. */
type NewAccountInput = Omit<AccountInput, 'due_date'> & {
  readonly due_date?: string | undefined
  readonly installments?: Installments | null | undefined
  readonly repeat_until?: string | null | undefined
}

/** Counterparty in an input: one of its ids. Null: none; absent in a PATCH: unchanged. */
interface PartyName {
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

/** Accounts that one request creates. */
const MAX_PARTS = 120

/** Creates several accounts that add up to the amount (ACCT-107). */
const Installments = z
  .strictObject({ count: z.int().min(1).max(MAX_PARTS), first_due_date: CalendarDate, interval: Interval })
  .meta({ id: 'InstallmentsInput' })
type Installments = z.infer<typeof Installments>

/** Body of POST: the due date may be left out where instalments say theirs. */
export const newAccount = <S extends z.ZodRawShape>(shape: S) =>
  z
    .strictObject({
      ...wholeShape(ACCOUNT_FIELDS),
      due_date: CalendarDate.optional(),
      installments: Installments.nullish(),
      /** The same bill each month, until this day (ACCT-1275). */
      repeat_until: CalendarDate.nullish(),
      ...shape,
    })
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

/** Body of a payment; received is amount + interest + fine - discount. */
export const AccountPaymentBody = z.strictObject({
  amount: PositiveMoney,
  paid_at: Instant.nullish(),
  payment_method: optionalText(60),
  interest: Money.nullish(),
  fine: Money.nullish(),
  discount: Money.nullish(),
})

export const AccountPaymentInput = z.strictObject({ id: Id, ...AccountPaymentBody.shape })
export type AccountPaymentInput = z.infer<typeof AccountPaymentInput>

/** Open drawer that cash goes into or out of in the panel, and the id of its movements; absent: none. */
export const DrawerOfAccounts = { cash_session_id: NamedSession, movement_id: z.uuid().nullish() }

/** Body of a reversal (ACCT-104). */
export const PaymentReversal = z.strictObject({ reason: boundedText(500) })

export const ReversalInput = z.strictObject({ id: Id, payment_id: Id, ...PaymentReversal.shape, ...DrawerOfAccounts })
export type ReversalInput = z.infer<typeof ReversalInput>

export const SettleInput = z.strictObject({ id: Id, ...Settlement.shape })
export type SettleInput = z.infer<typeof SettleInput>

/** Customer or supplier as recorded in an account. */
export interface Party {
  readonly id: number
  readonly external_id: string | null
  readonly name: string | null
}

/** Counterparty of an account: its lookups, and its fields in inputs (`N`) and events (`P`). */
export interface PartyKind<P, N> {
  /** Prefix of the counterparty's fields. */
  readonly field: 'customer' | 'supplier'
  /** Message if the counterparty does not exist, in Portuguese. */
  readonly unknown: string
  byId(id: number): Ref<PersonRow>
  byExternalId(externalId: string): Ref<PersonRow>
  named(input: N): PartyName
  recorded(party: Party | null): P
}

/** What the customer owes less without having paid. */
export type Forgiven = Omit<DataOf<'ReceivableDeleted'>, 'id'>

/** Differences between receivables and payables: lookups and events. */
export interface AccountSide<P extends object, N> {
  /** Used in event subjects and for ids. */
  readonly name: 'receivable' | 'payable'
  readonly party: PartyKind<P, N>
  byId(id: number): Ref<AccountRow<P>>
  byExternalId(externalId: string): Ref<AccountRow<P>>
  created(id: number, start: NewAccount<P>): NewEvent
  updated(id: number, changes: Partial<AccountFields & P>, forgiven: Forgiven): NewEvent
  deleted(id: number, forgiven: Forgiven): NewEvent
  revived(id: number, fields: AccountFields & P): NewEvent
  paid(id: number, payment: Omit<DataOf<'ReceivablePaymentReceived'>, 'id'>): NewEvent
  paymentReversed(id: number, reversal: Omit<DataOf<'ReceivablePaymentReversed'>, 'id'>): NewEvent
  settled(id: number, settlement: Omit<DataOf<'ReceivableSettled'>, 'id'>): NewEvent
}

/** Permission to pay accounts, and to reverse their payments. */
export const payPermission = ({ name }: Pick<AccountSide<object, unknown>, 'name'>): Permission =>
  name === 'payable' ? 'settle' : 'receive'

/**
 * Refusal if the account cannot be changed. The point of sale owns accounts made by sales: only the integration API is
 * refused.
 */
export function findAccountLock(
  { origin: source, status }: Pick<AccountRow<unknown>, 'origin' | 'status'>,
  origin: Origin,
): Refusal | null {
  if (source === 'sale' && origin === 'api') return refuse('managed_by_pdv')
  return status === 'settled' ? refuse('already_settled') : null
}

/** Discounts and reductions that a receivable had before, in cents. */
export const sumForgiven = ({ doc, reduced_cents }: Pick<AccountRow<unknown>, 'doc' | 'reduced_cents'>): number =>
  standingPayments(doc).reduce((sum, { discount }) => sum + toCents(discount), reduced_cents)

/** What customers owe less without having paid is given by the shop, and limited by role; suppliers give theirs. */
export const permitDiscount = (
  { name }: { readonly name: 'receivable' | 'payable' },
  permit: Permit,
  account: Pick<AccountRow<unknown>, 'doc' | 'reduced_cents'>,
  cents: number,
): Grant | Refusal =>
  name === 'receivable' && cents > 0 ? permit('give_discount', { cents, before: sumForgiven(account) }) : {}

/** A reduction of an account, with the approval of it; nothing for suppliers' accounts, and where no less is owed. */
function forgive(
  side: { readonly name: 'receivable' | 'payable' },
  permit: Permit,
  account: Pick<AccountRow<unknown>, 'doc' | 'reduced_cents'>,
  cents: number,
): Forgiven | Refusal {
  if (side.name === 'payable' || cents <= 0) return {}
  const granted = permitDiscount(side, permit, account, cents)
  return isRefusal(granted) ? granted : { discount: fromCents(cents), ...granted }
}

/** Creates a pending account, or one for each instalment; the first takes the external id. */
export function createAccount<P extends object, N>(side: AccountSide<P, N>): Command<NewAccountInput & N> {
  return command<NewAccountInput & N>({
    permission: `edit_${side.name}s`,
    needs: (input) => [
      ...(input.external_id ? [side.byExternalId(input.external_id)] : []),
      ...partyRefs(side.party, input),
    ],
    decide(rows, input, { nextId, origin }) {
      const party = findParty(rows, side.party, input) ?? side.party.recorded(null)
      if (isRefusal(party)) return party
      const fields = { ...toRecordedValues(ACCOUNT_FIELDS, input), ...party, metadata: wholeMetadata(input.metadata) }
      const { external_id } = fields
      const same = external_id && refuseDuplicate('external_id', rows.get(side.byExternalId(external_id)), null)
      if (same) return same
      const parts = partsOf(input)
      if (isRefusal(parts)) return parts
      const source = origin === 'api' ? ('api' as const) : ('pdv' as const)
      const ids = parts.map(() => nextId(side.name))
      const [group = 0] = ids
      const events = parts.map(({ amount, due_date }, n) =>
        side.created(ids[n] as number, {
          ...fields,
          external_id: n === 0 ? external_id : null,
          amount,
          due_date,
          origin: source,
          sale_id: null,
          ...((input.installments || input.repeat_until) && {
            installment: {
              ...{ group, number: n + 1, count: parts.length },
              ...(input.repeat_until && { repeats: true as const }),
            },
          }),
        }),
      )
      return accept('created', `${side.name}/${group}`, events)
    },
  })
}

/** Amounts and due dates of the accounts of an input. */
function partsOf({
  amount,
  due_date,
  installments,
  repeat_until,
}: NewAccountInput): Pick<AccountFields, 'amount' | 'due_date'>[] | Refusal {
  if (repeat_until) {
    if (installments || !due_date)
      return refuseField('repeat_until', 'vale para uma conta com vencimento e sem parcelas')
    // The 31st falls on the last day of a shorter month.
    const dates = instalmentDates(due_date, MAX_PARTS + 1, 'month').filter((date) => date <= repeat_until)
    if (dates.length === 0) return refuseField('repeat_until', 'deve ser igual ou posterior ao vencimento')
    if (dates.length > MAX_PARTS) return refuseField('repeat_until', 'deve ser em até dez anos')
    return dates.map((date) => ({ amount, due_date: date }))
  }
  if (!installments) return [{ amount, due_date: due_date as string }]
  const { count, first_due_date, interval } = installments
  if (toCents(amount) < count)
    return refuseField('installments.count', `cada parcela deve ter ao menos 0.01 de ${amount}`)
  const amounts = instalmentAmounts(amount, count)
  return instalmentDates(first_due_date, count, interval).map((date, n) => ({
    amount: amounts[n] as string,
    due_date: date,
  }))
}

/** Events of a change: a smaller amount must cover the payments, and equals them if it settles the account. */
function changeEvents<P extends object, N>(
  side: AccountSide<P, N>,
  account: Readonly<AccountRow<P>>,
  changes: Partial<AccountFields & P>,
  permit: Permit,
): NewEvent[] | Refusal {
  const { id, doc, amount_cents } = account
  if (changes.amount === undefined) return [side.updated(id, changes, {})]
  const open = toCents(changes.amount) - toCents(doc.paid_amount)
  if (open < 0) return refuseField('amount', `não pode ser menos que o que já foi pago, ${doc.paid_amount}`)
  const forgiven = forgive(side, permit, account, amount_cents - toCents(changes.amount))
  if (isRefusal(forgiven)) return forgiven
  const updated = side.updated(id, changes, forgiven)
  const last = standingPayments(doc).at(-1)
  if (open > 0 || !last) return [updated]
  const { paid_at, paid_on, payment_method } = last
  return [updated, side.settled(id, { paid_at: new Date(paid_at).toISOString(), settled_on: paid_on, payment_method })]
}

type Replacement = AccountInput & { readonly external_id: string }

/** Creates, replaces or revives the account with this external id, while it is pending. */
export function replaceAccount<P extends object, N>(side: AccountSide<P, N>): Command<Replacement & N> {
  return command<Replacement & N>({
    permission: `edit_${side.name}s`,
    needs: (input) => [side.byExternalId(input.external_id), ...partyRefs(side.party, input)],
    decide(rows, input, { nextId, origin, permit }) {
      const known = rows.get(side.byExternalId(input.external_id))
      const lock = known && findAccountLock(known, origin)
      const isRepetition = known && !known.deleted_at && isAsStored(side, known, input)
      if (isRepetition && lock?.refused !== 'managed_by_pdv') return accept('unchanged', `${side.name}/${known.id}`)
      if (lock) return lock
      const party = findParty(rows, side.party, input, known) ?? side.party.recorded(null)
      if (isRefusal(party)) return party
      const metadata = input.metadata === undefined ? (known?.doc.metadata ?? null) : wholeMetadata(input.metadata)
      const { external_id } = input
      const fields = { ...toRecordedValues(ACCOUNT_FIELDS, input), external_id, ...party, metadata }
      if (!known) {
        const start = { ...fields, origin: origin === 'api' ? 'api' : 'pdv', sale_id: null } as const
        const created = side.created(nextId(side.name), start)
        return accept('created', created.subject, [created])
      }
      const { id } = known
      const subject = `${side.name}/${id}`
      if (known.deleted_at) return accept('updated', subject, [side.revived(id, fields)])
      const changes = changesOf(side, known.doc, fields)
      if (isEmpty(changes)) return accept('unchanged', subject)
      const events = changeEvents(side, known, changes, permit)
      return isRefusal(events) ? events : accept('updated', subject, events)
    },
  })
}

/** Changed fields. A party's name and the metadata are sealed for the party: they come with its id, and change with it. */
function changesOf<P extends object, N>(
  { party: { field } }: AccountSide<P, N>,
  before: AccountFields & P,
  after: Partial<AccountFields & P>,
): Partial<AccountFields & P> {
  const changed = pickChanges<Partial<AccountFields & P>>(before, after)
  const id = `${field}_id` as keyof typeof after
  const { metadata } = before
  const changes = id in changed && metadata ? { metadata, ...changed } : changed
  const isSealed = `${field}_name` in changes || 'metadata' in changes
  return isSealed ? { [id]: after[id] === undefined ? before[id] : after[id], ...changes } : changes
}

/**
 * Whether the account already matches the input. A settlement or a later change of the counterparty does not turn a
 * repeated request into a different one.
 */
function isAsStored<P extends object, N>(
  { party: { field, named } }: AccountSide<P, N>,
  { doc }: Readonly<AccountRow<P>>,
  input: AccountInput & N,
): boolean {
  const { external_id: _, ...fields } = toRecordedValues(ACCOUNT_FIELDS, input)
  const { id, external_id } = named(input)
  const party =
    typeof external_id === 'string' ? { [`${field}_external_id`]: external_id } : { [`${field}_id`]: id ?? null }
  const metadata = input.metadata === undefined ? undefined : wholeMetadata(input.metadata)
  return isEmpty(pickChanges<object>(doc, { ...fields, metadata, ...party }))
}

interface Update<N> extends RecordId {
  readonly changes: Partial<AccountInput> & N
}

/** Changes the given fields while the account is pending. */
export function updateAccount<P extends object, N>(side: AccountSide<P, N>): Command<Update<N>> {
  return command<Update<N>>({
    permission: `edit_${side.name}s`,
    needs: ({ id, changes }) => [
      side.byId(id),
      ...(changes.external_id ? [side.byExternalId(changes.external_id)] : []),
      ...partyRefs(side.party, changes),
    ],
    decide(rows, { id, changes: patch }, { origin, permit }) {
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const lock = findAccountLock(known, origin)
      if (lock) return lock
      const party = findParty(rows, side.party, patch, known)
      if (party && isRefusal(party)) return party
      const { external_id } = patch
      const same = external_id && refuseDuplicate('external_id', rows.get(side.byExternalId(external_id)), id)
      if (same) return same
      const metadata = mergeMetadata(known.doc.metadata, patch.metadata)
      if (metadata && isRefusal(metadata)) return metadata
      const own = Object.fromEntries(
        Object.keys(ACCOUNT_FIELDS).map((name) => [name, patch[name as keyof AccountInput]]),
      )
      const after = { ...own, ...party, metadata } as Partial<AccountFields & P>
      const changes = changesOf(side, known.doc, after)
      const subject = `${side.name}/${id}`
      if (isEmpty(changes)) return accept('unchanged', subject)
      const events = changeEvents(side, known, changes, permit)
      return isRefusal(events) ? events : accept('updated', subject, events)
    },
  })
}

/** Removes a pending account from lists and sums. Its external id stays, so that PUT by-external can revive it. */
export function deleteAccount<P extends object, N>(side: AccountSide<P, N>): Command<RecordId> {
  return command<RecordId>({
    permission: side.name === 'receivable' ? 'delete_receivables' : 'edit_payables',
    needs: ({ id }) => [side.byId(id)],
    decide(rows, { id }, { origin, permit }) {
      const known = rows.get(side.byId(id))
      if (!known || known.deleted_at) return refuse('not_found')
      const lock = findAccountLock(known, origin)
      if (lock) return lock
      if (standingPayments(known.doc).length > 0) return refuse('has_payments')
      const forgiven = forgive(side, permit, known, known.open_cents)
      if (isRefusal(forgiven)) return forgiven
      return accept('deleted', `${side.name}/${id}`, [side.deleted(id, forgiven)])
    },
  })
}

function partyRefs<P, N>({ byId, byExternalId, named }: PartyKind<P, N>, input: N): AnyRef[] {
  const { id, external_id } = named(input)
  if (id) return [byId(id)]
  return external_id ? [byExternalId(external_id)] : []
}

/**
 * Recorded fields of the counterparty in the input; undefined if the input does not mention one. A deleted one may keep
 * its own account, with the name on it.
 */
function findParty<P extends object, N>(
  rows: Rows,
  kind: PartyKind<P, N>,
  input: N,
  account: Readonly<AccountRow<P>> | null = null,
): P | undefined | Refusal {
  const { id, external_id } = kind.named(input)
  if (!id && !external_id) return id === null || external_id === null ? kind.recorded(null) : undefined
  const found = rows.get(id ? kind.byId(id) : kind.byExternalId(external_id ?? ''))
  if (account && found?.deleted_at && found.id === account.party_id && found.doc.forgotten_at === null) {
    const { name } = partyOn(account, kind)
    return kind.recorded({ id: found.id, external_id: found.external_id, name })
  }
  if (!found || found.deleted_at) return refuseField(`${kind.field}_${id ? 'id' : 'external_id'}`, kind.unknown)
  if (found.doc.forgotten_at !== null) return refuseForgotten(`${kind.field}/${found.id}`)
  return kind.recorded({ id: found.id, external_id: found.external_id, name: found.doc.name })
}

/** Name of the counterparty on the account. */
const partyOn = <P extends object, N>({ doc }: Readonly<AccountRow<P>>, { field }: PartyKind<P, N>) => ({
  name: (doc as Readonly<Record<string, unknown>>)[`${field}_name`] as string | null,
})
