import { fromBigCents, toBigCents } from '#domain/money.ts'
import { searchKey } from '#domain/text.ts'
import { IS_OPEN } from '#projections/finance.ts'
import { moneySum } from './list-statement.ts'
import type { Reader, ReadScope } from './reader.ts'
import { t } from './table-names.ts'

/** Receivables from customers, or payables to suppliers. */
export type BalanceSide = 'receivables' | 'payables'

const PARTIES = { receivables: 'customers', payables: 'suppliers' } as const

/** Days past due; `not_due` is due today or later. */
export const BALANCE_AGES = ['not_due', 'to_30', 'to_60', 'to_90', 'older'] as const
export type BalanceAge = (typeof BALANCE_AGES)[number]

/** Open accounts: total, and total by age. Amounts have two decimals. */
export interface OpenBalance {
  readonly count: number
  readonly amount: string
  readonly overdue: string
  readonly ages: Readonly<Record<BalanceAge, string>>
  /** Oldest due date; null if there is none. */
  readonly since: string | null
}

/** Bound of open accounts in a sum, oldest due date first. */
export const MAX_OPEN_BALANCES = 20_000

/** `days` is SQL of the days past due. */
const IN_AGE: Readonly<Record<BalanceAge, (days: string) => string>> = {
  not_due: (days) => `${days} <= 0`,
  to_30: (days) => `${days} between 1 and 30`,
  to_60: (days) => `${days} between 31 and 60`,
  to_90: (days) => `${days} between 61 and 90`,
  older: (days) => `${days} > 90`,
}

/** SQL of sums in cents, over rows with `open_cents` and `due_date`; $2 is the company's day. */
const DAYS = '($2::date - due_date)'
const SUMS = `count(*) as count, sum(open_cents) as cents, sum(open_cents) filter (where ${DAYS} > 0) as overdue_cents,
  min(due_date) as oldest, ${BALANCE_AGES.map((age) => `sum(open_cents) filter (where ${IN_AGE[age](DAYS)}) as ${age}`).join(', ')}`

/** SQL that adds up partial sums. */
const SUMS_OF_SUMS = `sum(count)::bigint as count, sum(cents) as cents, sum(overdue_cents) as overdue_cents, min(oldest) as oldest,
  ${BALANCE_AGES.map((age) => `sum(${age}) as ${age}`).join(', ')}`

/** SQL of an open balance from a summed row. */
const OWED = `coalesce(count, 0) as count, ${moneySum('cents')} as amount, ${moneySum('overdue_cents')} as overdue, oldest::text as since,
  json_build_object(${BALANCE_AGES.map((age) => `'${age}', ${moneySum(age)}`).join(', ')}) as ages`

/** A party with open accounts; null groups the accounts without a party. */
export interface Debtor extends OpenBalance {
  readonly id: number | null
  /** Current name; null without a party, or if it was erased. */
  readonly name: string | null
  readonly is_deleted: boolean
}

export interface Debtors {
  readonly total: OpenBalance
  /** Number of parties with a balance. */
  readonly parties: number
  /** Largest balance first. */
  readonly page: readonly Debtor[]
  /** True if there were more accounts than the bound. */
  readonly isPartial: boolean
}

/** $1 company, $2 its day, $3 the bound, $4 and $5 the page. There is an index by due date. */
const debtorsText = (side: BalanceSide): string => `
  with open as materialized (
    select t.party_id, t.open_cents, t.due_date from ${t[side]} t
    where t.company_id = $1 and t.status = 'pending' and t.deleted_at is null
    order by t.due_date limit $3::bigint),
  parties as materialized (select party_id as id, ${SUMS} from open group by party_id)
  select (select row_to_json(o) from (select ${OWED} from (select ${SUMS_OF_SUMS} from parties) s) o) as total,
    (select count(*) from parties) as parties,
    (select coalesce(json_agg(row_to_json(p)), '[]') from (
       select id, ${OWED} from (select * from parties order by cents desc, id offset $4::bigint limit $5::bigint) s) p) as page`

interface DebtorsRow {
  readonly total: OpenBalance
  readonly parties: number
  readonly page: readonly Omit<Debtor, 'name' | 'is_deleted'>[]
}

/** Balances by party. `today` is the company's day. */
export async function listDebtors(
  reader: Reader,
  side: BalanceSide,
  { today, skip, limit }: { readonly today: string; readonly skip: number; readonly limit: number },
): Promise<Debtors> {
  const { rows } = await reader.query<DebtorsRow>({
    name: `debtors_${side}`,
    text: debtorsText(side),
    values: [today, MAX_OPEN_BALANCES, skip, limit],
    readSet: { [side]: 'columns' },
  })
  const { total, parties, page } = rows[0] as DebtorsRow
  const names = await namesOf(
    reader,
    side,
    page.flatMap(({ id }) => id ?? []),
  )
  const named = page.map((owed) => ({ ...owed, ...(names.get(owed.id ?? 0) ?? NO_PARTY) }))
  return { total, parties, page: named, isPartial: total.count === MAX_OPEN_BALANCES }
}

/** The accounts that name parties. */
const openOf = (side: BalanceSide, ids: readonly number[]): ReadScope => ({
  text: `select t.id from ${t[side]} t where t.company_id = $1 and t.party_id = any($2::bigint[]) and t.status = 'pending' and t.deleted_at is null`,
  values: [ids],
  readSet: { [side]: 'columns' },
})

/** SQL condition of open accounts of a party. */
const isOpen = (table: string): string => IS_OPEN.replaceAll(/party_id|status|deleted_at/g, `${table}.$&`)

const NAME_ON = { receivables: 'customer_name', payables: 'supplier_name' } as const

/** SQL of a party's name; a deleted one is named by its newest open account. */
const nameOfParty = (side: BalanceSide): string => `coalesce(t.doc ->> 'name', (
  select o.doc ->> '${NAME_ON[side]}' from ${t[side]} o
  where o.company_id = t.company_id and o.party_id = t.id and ${isOpen('o')}
  order by o.id desc limit 1))`

/** A deleted party with open accounts. */
export interface DeletedDebtor {
  readonly id: number
  readonly name: string | null
}

/** Of deleted parties with open accounts; shops have fewer. */
const MAX_DELETED_DEBTORS = 500

/** Deleted parties with open accounts, which keep their name. */
export async function listDeletedDebtors(reader: Reader, side: BalanceSide): Promise<DeletedDebtor[]> {
  const text = `select t.id, ${nameOfParty(side)} as name from ${t[PARTIES[side]]} t
    where t.company_id = $1 and t.deleted_at is not null and exists (
      select from ${t[side]} a where a.company_id = t.company_id and a.party_id = t.id and ${isOpen('a')})
    order by t.id limit ${MAX_DELETED_DEBTORS}`
  const { rows } = await reader.query<DeletedDebtor>({ name: `deleted_debtors_${side}`, text })
  return rows
}

/** Ids of deleted parties whose newest account has the text in their name, the newest ones. */
export async function findDeletedParties(reader: Reader, side: BalanceSide, text: string): Promise<number[]> {
  const { rows } = await reader.query<DeletedDebtor>({
    name: `deleted_parties_${side}`,
    text: `select t.id, a.name from ${t[PARTIES[side]]} t
      cross join lateral (
        select a.doc ->> '${NAME_ON[side]}' as name from ${t[side]} a
        where a.company_id = $1 and a.party_id = t.id and a.party_id is not null and a.deleted_at is null
        order by a.id desc limit 1) a
      where t.company_id = $1 and t.deleted_at is not null order by t.id desc limit ${MAX_DELETED_DEBTORS}`,
  })
  const sought = searchKey(text)
  return rows.flatMap(({ id, name }) => (name !== null && searchKey(name).includes(sought) ? [id] : []))
}

/** The deleted party with this id if it has accounts, also paid ones; else null. It has a name while one is open. */
export async function findDeletedParty(reader: Reader, side: BalanceSide, id: number): Promise<DeletedDebtor | null> {
  const text = `select t.id, ${nameOfParty(side)} as name from ${t[PARTIES[side]]} t
    where t.company_id = $1 and t.id = $2::bigint and t.deleted_at is not null
      and exists (select from ${t[side]} a where a.company_id = $1 and a.party_id = $2::bigint and a.deleted_at is null)`
  const { rows } = await reader.query<DeletedDebtor>({ name: `deleted_party_${side}`, text, values: [id] })
  return rows[0] ?? null
}

const NO_PARTY = { name: null, is_deleted: false }

async function namesOf(reader: Reader, side: BalanceSide, ids: readonly number[]) {
  const { rows } = await reader.query<{ id: number; name: string | null; is_deleted: boolean }>({
    name: `debtor_names_${side}`,
    text: `select t.id, ${nameOfParty(side)} as name, t.deleted_at is not null as is_deleted
        from ${t[PARTIES[side]]} t where t.company_id = $1 and t.id = any($2::bigint[])`,
    values: [ids],
    readSet: { [PARTIES[side]]: ids, [side]: openOf(side, ids) },
  })
  return new Map(rows.map(({ id, name, is_deleted }) => [id, { name, is_deleted }] as const))
}

/** An open account of a party. */
export interface OpenAccount {
  readonly id: number
  readonly description: string
  readonly amount: string
  readonly open_amount: string
  readonly due_date: string
  /** The credit sale that created it. */
  readonly sale_id: number | null
}

export interface PartyBalance extends OpenBalance {
  /** Oldest due date first. */
  readonly accounts: readonly OpenAccount[]
}

/** Uses the index of open accounts. */
const IS_OPEN_OF = `t.company_id = $1 and t.party_id = $3 and t.party_id is not null and t.status = 'pending' and t.deleted_at is null`

/** The balance of one party with up to `limit` of its accounts. */
export async function openBalanceOfParty(
  reader: Reader,
  side: BalanceSide,
  partyId: number,
  { today, limit }: { readonly today: string; readonly limit: number },
): Promise<PartyBalance> {
  const sums = {
    name: `owed_by_party_${side}`,
    text: `select ${OWED} from (select ${SUMS} from (
      select t.open_cents, t.due_date from ${t[side]} t where ${IS_OPEN_OF} limit $4::bigint) open) s`,
    values: [today, partyId, MAX_OPEN_BALANCES],
    readSet: { [side]: 'columns' as const },
  }
  const list = {
    name: `open_accounts_of_${side}`,
    text: `select t.id as key_id, t.id, t.doc->>'description' as description, t.doc->>'amount' as amount,
        t.doc->>'open_amount' as open_amount,
        t.due_date::text as due_date, (t.doc->>'sale_id')::bigint as sale_id
      from ${t[side]} t where ${IS_OPEN_OF} order by t.due_date, t.id limit $2::bigint`,
    values: [limit, partyId],
    readSet: { [side]: 'answered' as const },
  }
  const [{ rows }, accounts] = [await reader.query<OpenBalance>(sums), await reader.query<OpenAccount>(list)]
  return { ...(rows[0] as OpenBalance), accounts: accounts.rows }
}

/** Amounts of open accounts by party; parties without any are absent. */
export async function sumOpenByParty(
  reader: Reader,
  side: BalanceSide,
  partyIds: readonly number[],
  today: string,
): Promise<ReadonlyMap<number, string>> {
  const { rows } = await reader.query<{ id: number; amount: string }>({
    name: `open_amounts_${side}`,
    text: `select id, ${OWED} from (
          select t.party_id as id, ${SUMS} from ${t[side]} t
          where t.company_id = $1 and t.party_id = any($3::bigint[]) and t.party_id is not null
            and t.status = 'pending' and t.deleted_at is null group by t.party_id) s`,
    values: [today, partyIds],
    readSet: { [side]: 'columns' },
  })
  return new Map(rows.map(({ id, amount }) => [id, amount]))
}

/** Parameter of the statement that selects the parties of `openAmountOf`. */
export const FIRST_OF_PARTIES = 3

/** Open amount of the parties that a statement selects; its parameters follow company and day. */
export async function openAmountAmong(
  reader: Reader,
  side: BalanceSide,
  today: string,
  parties: { readonly text: string; readonly values: readonly unknown[] },
): Promise<string> {
  const { rows } = await reader.query<OpenBalance>({
    text: `with among as materialized (${parties.text})
        select ${OWED} from (select ${SUMS} from ${t[side]} t
          where t.company_id = $1 and t.party_id is not null and t.status = 'pending' and t.deleted_at is null
            and t.party_id in (select id from among)) s`,
    values: [today, ...parties.values],
    readSet: { [side]: 'columns', [PARTIES[side]]: 'columns' },
  })
  return rows[0]?.amount ?? '0.00'
}

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
