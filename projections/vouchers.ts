import { addDays, dateInZone } from '#domain/instant.ts'
import { addAmounts, fromBigCents, toBigCents } from '#domain/money.ts'
import type { EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { VOUCHER_DAYS } from '#records/company-settings.ts'
import { companyRef } from './companies.ts'
import { type ChangedFields, changedColumns, projection, stamp } from './define-projection.ts'
import type { CREDIT_MOVEMENTS } from './store-credit.ts'

/** Store credit of who has the paper. */
interface VoucherRow extends ChangedFields {
  company_id: number
  voucher: string
  /** What returns gave to it, without those that were reversed. */
  value: string
  /** Any size; negative after sales of tills that took more than there was. */
  balance: string
  /** The last return that gave to it; all null of a code that only sales have named. */
  return_id: number | null
  issued_at: string | null
  /** Its last day. */
  valid_until: string | null
}

const vouchers = table<VoucherRow>('vouchers', {
  about: 'Each voucher that was given or taken, in reais.',
  columns: {
    company_id: 'bigint',
    voucher: 'text',
    value: 'numeric',
    balance: 'numeric',
    return_id: 'bigint',
    issued_at: 'timestamptz',
    valid_until: 'date',
    ...changedColumns,
  },
  keys: { pk: ['company_id', 'voucher'] },
  indexes: ['(company_id, changed_at, voucher)'],
})

export const voucherByCode = (voucher: string) => byPk(vouchers, voucher)

/** Balance of a loaded voucher; none of one that was never given. */
export const voucherBalance = (rows: Rows, voucher: string): string =>
  rows.get(voucherByCode(voucher))?.balance ?? '0.00'

/** Last day of a voucher that is given at an instant; a clock that is ahead gains no days. */
export function voucherUntil(rows: Rows, givenAt: string, now: string): string {
  const { timezone, doc } = companyRef(rows)
  return addDays(dateInZone(givenAt < now ? givenAt : now, timezone), doc.voucher_days ?? VOUCHER_DAYS)
}

/** Movement of a voucher. Rows are only added. */
interface VoucherMovementRow {
  company_id: number
  voucher: string
  /** The event that recorded it. */
  revision: number
  kind: (typeof CREDIT_MOVEMENTS)[number]
  /** Signed, as all amounts of credit. */
  amount: string
  balance: string
  /** The record that moved it, as `sale/981`. */
  document: string
  occurred_at: string
}

const voucherMovements = table<VoucherMovementRow>('voucher_movements', {
  about: 'Movements of vouchers, in reais.',
  columns: {
    company_id: 'bigint',
    voucher: 'text',
    revision: 'bigint',
    kind: 'text',
    amount: 'numeric',
    balance: 'numeric',
    document: 'text',
    occurred_at: 'timestamptz',
  },
  keys: { pk: ['company_id', 'voucher', 'revision'] },
})

interface Part {
  readonly amount: string
  readonly voucher?: string | undefined
  readonly voucher_until?: string | undefined
}
type Parts = readonly Part[]

/** What each voucher pays or gets, of payments, refunds or the parts of what is undone. */
export function voucherParts(parts: Parts): { voucher: string; amount: string }[] {
  const sums = new Map<string, string>()
  for (const { voucher, amount } of parts)
    if (voucher !== undefined) sums.set(voucher, addAmounts(sums.get(voucher) ?? '0.00', amount))
  return [...sums].map(([voucher, amount]) => ({ voucher, amount }))
}

type Moving =
  | EventOf<'SaleReturned'>
  | EventOf<'ReturnReversed'>
  | EventOf<'OfflineSaleCompleted'>
  | EventOf<'SaleCancelled'>

interface Move<E> {
  readonly kind: VoucherMovementRow['kind']
  readonly sign: 1 | -1
  partsOf(data: E['data' & keyof E]): Parts | undefined
  timeOf(event: E): string
}

const NOTHING = { value: '0.00', balance: '0.00', return_id: null, issued_at: null, valid_until: null } as const

const later = (a: string | null, b: string | null): string | null => (a !== null && (b === null || a > b) ? a : b)

/** What a return says of a voucher that it gives to. */
function giftOf(event: Moving, before: Pick<VoucherRow, 'issued_at' | 'valid_until'>, voucher: string) {
  if (event.type !== 'SaleReturned') return {}
  const { id: return_id, returned_at, refunds } = event.data
  const until = refunds.find((each) => each.voucher === voucher)?.voucher_until ?? null
  return {
    return_id,
    issued_at: later(before.issued_at, returned_at),
    valid_until: later(before.valid_until, until),
  }
}

const moving = <E extends Moving>({ kind, sign, partsOf, timeOf }: Move<E>) => ({
  refs: ({ data }: E) => voucherParts(partsOf(data) ?? []).map(({ voucher }) => voucherByCode(voucher)),
  apply(rows: Changes, event: E) {
    const { company_id } = companyRef(rows)
    for (const { voucher, amount: moved } of voucherParts(partsOf(event.data) ?? [])) {
      const before = rows.get(voucherByCode(voucher)) ?? NOTHING
      const amount = fromBigCents(BigInt(sign) * toBigCents(moved))
      const balance = addAmounts(before.balance, amount)
      const value = kind === 'return' ? addAmounts(before.value, amount) : before.value
      const row = { ...before, ...giftOf(event, before, voucher), company_id, voucher, value, balance }
      rows.put(vouchers, { ...row, ...stamp(event) })
      rows.add(voucherMovements, {
        ...{ company_id, voucher, kind, amount, balance },
        ...{ revision: event.revision, document: event.subject, occurred_at: timeOf(event) },
      })
    }
  },
})

export const vouchersProjection = projection('vouchers', [vouchers, voucherMovements], {
  SaleReturned: moving<EventOf<'SaleReturned'>>({
    ...{ kind: 'return', sign: 1 },
    partsOf: ({ refunds }) => refunds,
    timeOf: ({ data }) => data.returned_at,
  }),
  ReturnReversed: moving<EventOf<'ReturnReversed'>>({
    ...{ kind: 'return', sign: -1 },
    partsOf: ({ vouchers: given }) => given,
    timeOf: ({ recorded_at }) => recorded_at,
  }),
  OfflineSaleCompleted: moving<EventOf<'OfflineSaleCompleted'>>({
    ...{ kind: 'sale', sign: -1 },
    partsOf: ({ payments }) => payments,
    timeOf: ({ data }) => data.sold_at,
  }),
  SaleCancelled: moving<EventOf<'SaleCancelled'>>({
    ...{ kind: 'cancel', sign: 1 },
    partsOf: ({ vouchers: back }) => back,
    timeOf: ({ recorded_at }) => recorded_at,
  }),
})
