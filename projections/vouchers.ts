import { addAmounts, fromBigCents, toBigCents } from '#domain/money.ts'
import type { DataOf, EventOf } from '#events/catalogue.ts'
import { byPk, table } from '#ledger/table.ts'
import type { Changes, Rows } from '#ledger/working-set.ts'
import { companyRef } from './companies.ts'
import { type ChangedFields, changedColumns, projection, stamp } from './define-projection.ts'

/** Store credit of who has the paper. */
interface VoucherRow extends ChangedFields {
  company_id: number
  voucher: string
  /** Any size; negative after sales of tills that took more than there was. */
  balance: string
}

const vouchers = table<VoucherRow>('vouchers', {
  about: 'Balance of each voucher that a till has given or taken, in reais.',
  columns: { company_id: 'bigint', voucher: 'text', balance: 'numeric', ...changedColumns },
  keys: { pk: ['company_id', 'voucher'] },
})

export const voucherByCode = (voucher: string) => byPk(vouchers, voucher)

/** Balance of a loaded voucher; none of one that was never given. */
export const voucherBalance = (rows: Rows, voucher: string): string =>
  rows.get(voucherByCode(voucher))?.balance ?? '0.00'

type Parts = readonly { readonly amount: string; readonly voucher?: string | undefined }[]

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

const moving = <E extends Moving>(sign: 1 | -1, partsOf: (data: E['data']) => Parts | undefined) => ({
  refs: ({ data }: E) => voucherParts(partsOf(data) ?? []).map(({ voucher }) => voucherByCode(voucher)),
  apply(rows: Changes, event: E) {
    const { company_id } = companyRef(rows)
    for (const { voucher, amount } of voucherParts(partsOf(event.data) ?? [])) {
      const balance = addAmounts(voucherBalance(rows, voucher), fromBigCents(BigInt(sign) * toBigCents(amount)))
      rows.put(vouchers, { company_id, voucher, balance, ...stamp(event) })
    }
  },
})

export const vouchersProjection = projection('vouchers', [vouchers], {
  SaleReturned: moving(1, ({ refunds }: DataOf<'SaleReturned'>) => refunds),
  ReturnReversed: moving(-1, (data: DataOf<'ReturnReversed'>) => data.vouchers),
  OfflineSaleCompleted: moving(-1, ({ payments }: DataOf<'OfflineSaleCompleted'>) => payments),
  SaleCancelled: moving(1, (data: DataOf<'SaleCancelled'>) => data.vouchers),
})
