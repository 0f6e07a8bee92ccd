import type { Pool } from 'pg'

const cents = (text: string): string => `replace(${text}, '.', '')::bigint`

/**
 * Sales of which more money or store credit went out than came in. Pending payments count as nothing, store
 * credit as far as its customer had some, receipts of accounts without those that were reversed.
 */
const SALES = `
  select s.id, s.status, taken.cents as taken, back.cents as back
  from read.sales s
  cross join lateral (
    select least(s.received_cents, coalesce(sum(${cents('p.net')} + ${cents('p.surcharge')}), 0)
      + coalesce((select sum(least(-m.amount, greatest(m.balance - m.amount, 0)) * 100)::bigint from read.credit_movements m
          where m.company_id = s.company_id and m.kind = 'sale' and m.document = 'sale/' || s.id), 0))
      + coalesce((select sum(r.received_cents) from read.receivable_payments r
          where r.company_id = s.company_id and r.kind = 'payment'
            and r.account_id in (select own.id::bigint from json_array_elements_text(s.receivable_ids) as own (id))), 0) as cents
    from json_to_recordset(s.doc -> 'payments') p (payment_type_id bigint, net text, surcharge text)
    left join read.payment_types t on t.company_id = s.company_id and t.id = p.payment_type_id
    where coalesce(t.doc ->> 'kind', '') not in ('credit_account', 'exchange_credit')) taken
  cross join lateral (
    select coalesce(sum(${cents('p.amount')}), 0) as cents
    from (
      select r.doc -> 'refunds' as refunds from read.returns r
      where r.company_id = s.company_id and r.sale_id = s.id and r.doc ->> 'reversed_at' is null
      union all
      select s.doc -> 'cancel_refunds' where s.status = 'cancelled') went
    cross join lateral json_to_recordset(went.refunds) p (payment_type_id bigint, amount text)
    left join read.payment_types t on t.company_id = s.company_id and t.id = p.payment_type_id
    where json_typeof(went.refunds) = 'array' and t.doc ->> 'kind' is distinct from 'credit_account') back
  where s.company_id = $1 and back.cents > taken.cents`

/** Goods of a sale that came back more than once, by line. */
const GOODS = `
  select s.id, line.n, line.item ->> 'quantity' as sold, back.quantity
  from read.sales s
  cross join lateral (select ordinality - 1 as n, value as item
    from json_array_elements(s.doc -> 'items') with ordinality) line
  cross join lateral (
    select sum((i.quantity)::numeric) as quantity
    from read.returns r cross join lateral json_to_recordset(r.doc -> 'items') i (line bigint, quantity text)
    where r.company_id = s.company_id and r.sale_id = s.id and r.doc ->> 'reversed_at' is null and i.line = line.n) back
  where s.company_id = $1 and back.quantity > (line.item ->> 'quantity')::numeric`

/** Accounts that were paid beyond their amount, and balances of store credit that are no sum of their movements. */
const ACCOUNTS = `
  select 'receivable/' || id as record from read.receivables where company_id = $1 and open_cents < 0
  union all
  select 'credit/' || c.id from read.customer_credits c
  where c.company_id = $1 and c.balance <> (select coalesce(sum(m.amount), 0) from read.credit_movements m
    where m.company_id = c.company_id and m.customer_id = c.id)
  union all
  select 'voucher/' || v.voucher from read.vouchers v
  where v.company_id = $1 and v.balance <> (select coalesce(sum(m.amount), 0) from read.voucher_movements m
    where m.company_id = v.company_id and m.voucher = v.voucher)`

/** What does not reconcile in the books of a company: nothing. */
export async function unreconciled(pool: Pool, companyId: number): Promise<unknown[]> {
  const found = []
  for (const text of [SALES, GOODS, ACCOUNTS]) found.push(...(await pool.query(text, [companyId])).rows)
  return found
}
