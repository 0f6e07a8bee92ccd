import { markTable } from '#postgres/table-marks.ts'

/** SQL of the cents of a decimal text. */
export const centsOf = (text: string): string => `replace(${text}, '.', '')::bigint`

/**
 * SQL of a lateral subquery `(way, cents)`: what a sale took by each payment type, which sums to its total. A till may
 * state payments with or without the change (UP-7); `net` and `surcharge` never contain it. The empty way is the part of
 * the total that no payment states, as of a sale cancelled before it was paid.
 */
export const waysOf = (sale: string, payments = `${sale}.doc -> 'payments'`): string => `(
  select coalesce(p.way, '') as way,
    (case when grouping(p.way) = 1 then ${sale}.total_cents - coalesce(sum(p.cents), 0) else sum(p.cents) end)::bigint as cents
  from (
    select payment ->> 'payment_type_id' as way, ${centsOf("payment ->> 'net'")} + ${centsOf("payment ->> 'surcharge'")} as cents
    from json_array_elements(${payments}) payment) p
  group by grouping sets ((p.way), ())
  having grouping(p.way) = 0 or coalesce(sum(p.cents), 0) <> ${sale}.total_cents)`

/** SQL of how the money of a cancelled sale `sale` went back, as JSON; null if the cancellation does not state it. */
export const statedRefunds = (sale: string): string =>
  `case when ${sale}.doc ->> 'cancel_refunds' is not null then ${sale}.doc -> 'cancel_refunds' end`

/**
 * SQL of a lateral subquery `(way, cents)`: what a cancellation gave back by each payment type. As it states; sales on
 * credit and store credit are undone without money. Else as the sale was paid.
 */
export const givenBackBy = (
  sale: string,
  { company, payments, refunds }: Readonly<Record<'company' | 'payments' | 'refunds', string>>,
): string => `(
  select p.way, p.cents from ${waysOf(sale, payments)} p
  where ${refunds} is null or exists (
    select from ${markTable('payment_types')} k where k.company_id = ${company} and k.id = nullif(p.way, '')::bigint
      and k.doc ->> 'kind' in ('credit_account', 'exchange_credit'))
  union all
  select refund ->> 'payment_type_id', ${centsOf("refund ->> 'amount'")} from json_array_elements(${refunds}) refund)`

/**
 * SQL of the units of a sale: each line counts its quantity, a weighed or measured one (a fraction) as one unit, because
 * kilograms and pieces have no sum. `countUnits` (domain) counts the same.
 */
export const unitsOf = (sale: string): string => `(
  select coalesce(sum(case when q.n = trunc(q.n) then q.n else 1 end), 0)::bigint
  from (select (line ->> 'quantity')::numeric as n from json_array_elements(${sale}.doc -> 'items') line) q)`

/** SQL of the key of a sale's seller: `user/3`, `name/Ana`, or `none`. */
export const sellerOf = (sale: string): string =>
  `coalesce('user/' || ${sale}.seller_id, 'name/' || ${sale}.seller_name, 'none')`
