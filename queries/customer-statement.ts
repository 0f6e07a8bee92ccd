import { fromBigCents, toBigCents } from '#domain/money.ts'
import { MAX_OPEN_BALANCES } from './open-balances.ts'
import type { Reader } from './reader.ts'
import { t } from './table-names.ts'

/** A purchase on credit, or what covers it: a payment or goods that came back. */
export interface StatementLine {
  /** Event that recorded it: of an account, the one that created it. */
  readonly revision: number
  readonly kind: 'account' | 'payment' | 'return'
  readonly account_id: number
  readonly description: string
  /** Signed: what is owed grows by an account, and shrinks by a payment; 0.00 of one that was reversed. */
  readonly amount: string
  /** What was owed after it. */
  readonly balance: string
  readonly at: string
  /** Of an account. */
  readonly due_date: string | null
  readonly sale_id: number | null
  /** First goods of the sale. */
  readonly goods: string | null
  /** Number of a payment's receipt. */
  readonly receipt: number | null
  readonly reversed_at: string | null
}

type LineRow = Omit<StatementLine, 'amount' | 'balance'> & { readonly cents: string }

/** Goods of a sale that its line names. */
const GOODS = 4

const STATEMENT = `
  with accounts as materialized (
    select t.id, t.first_revision, t.amount_cents, t.due_date, t.doc from ${t.receivables} t
    where t.company_id = $1 and t.party_id = $2 and t.party_id is not null and t.deleted_at is null
    order by t.id desc limit $3::bigint),
  lines as (
    select a.first_revision as revision, 'account' as kind, a.id as account_id, a.amount_cents as cents,
      a.doc ->> 'created_at' as at, a.due_date::text as due_date, (a.doc ->> 'sale_id')::bigint as sale_id,
      null::bigint as receipt, null as reversed_at, a.doc ->> 'description' as description
    from accounts a
    union all
    select (p ->> 'id')::bigint, p ->> 'kind', a.id,
      case when p ->> 'reversed_at' is null then -((p ->> 'amount')::numeric * 100)::bigint else 0 end,
      p ->> 'paid_at', null, null, (p ->> 'receipt')::bigint, p ->> 'reversed_at', a.doc ->> 'description'
    from accounts a cross join json_array_elements(a.doc -> 'payments') p),
  shown as (select * from lines order by revision desc, account_id desc limit $4::bigint)
  select s.revision, s.kind, s.account_id, s.cents::text as cents, s.at, s.due_date, s.sale_id, s.receipt, s.reversed_at,
    s.description, goods.names as goods
  from shown s left join lateral (
    select string_agg(i.description, ', ' order by i.place) as names
    from ${t.sales} v cross join json_array_elements(v.doc -> 'items') with ordinality as item (value, place)
      cross join lateral (select item.value ->> 'description' as description, item.place) i
    where v.company_id = $1 and v.id = s.sale_id and i.place <= ${GOODS}) goods on true
  order by s.revision desc, s.account_id desc`

/** The newest lines of a customer, newest first; `owed` is what is owed now. */
export async function readStatement(
  reader: Reader,
  customerId: number,
  { owed, limit }: { readonly owed: string; readonly limit: number },
): Promise<StatementLine[]> {
  const { rows } = await reader.query<LineRow>({
    name: 'customer_statement',
    text: STATEMENT,
    values: [customerId, MAX_OPEN_BALANCES, limit],
  })
  let after = toBigCents(owed)
  return rows.map(({ cents, ...line }) => {
    const balance = fromBigCents(after)
    after -= BigInt(cents)
    return { ...line, amount: fromBigCents(BigInt(cents)), balance }
  })
}
