import { markTable } from '#postgres/table-marks.ts'
import { rollUp, SOLD, spanOf } from '#projections/sales-rollups.ts'

/** The sales that a user without `see_all_sales` sees: own ones of one day of the company, in UTC instants. */
export interface OwnSales {
  readonly userId: number
  readonly from: string
  readonly to: string
}

/** SQL of the parameters, of those that a condition uses. */
export interface Places {
  readonly company: string
  readonly user: string
  readonly from: string
  readonly to: string
}

/** SQL condition on the sale `t`. */
const isOwn = ({ company, user, from, to }: Places): string =>
  `t.company_id = ${company} and t.seller_id = ${user} and t.sold_at >= ${from} and t.sold_at < ${to}`

/** SQL condition on a row with the id of a sale. */
const isOfOwn = (saleId: string) => (places: Places) =>
  `exists (select from ${markTable('sales')} own where own.company_id = ${places.company} and own.id = ${saleId} and ${isOwn(places).replaceAll('t.', 'own.')})`

/** SQL condition on the instant in a column. */
const isToday = (column: string, { from, to }: Places): string => `${column} >= ${from} and ${column} < ${to}`

/** SQL of the user as the actor of an event. */
const actorOf = ({ user }: Places): string => `'user/' || ${user}`

/** SQL condition on a return: of an own sale, or money that the user gave back today. */
const isOwnReturn = (actor: string) => (places: Places) =>
  `(${isOfOwn('t.sale_id')(places)} or (t.${actor} = ${actorOf(places)} and ${isToday('t.returned_at', places)}))`

/** SQL condition on the cash session `t`: the user opened or closed it, today. */
const isOwnSession = (places: Places): string =>
  `${places.user} in ((t.doc ->> 'opened_by')::bigint, (t.doc ->> 'closed_by')::bigint)
    and ${isToday('coalesce(t.opened_at, t.closed_at)', places)}`

/** SQL condition on the receivable `t`. */
const isShownReceivable = (places: Places): string => `(t.status = 'pending' or (${isToday('t.changed_at', places)}))`

/** SQL condition on a row of which another table has a row, which meets a condition. */
const isOfShown = (table: string, condition: (places: Places) => string, link: string) => (places: Places) =>
  `exists (select from ${markTable(table)} shown where shown.company_id = ${places.company} and ${link}
    and ${condition(places).replaceAll('t.', 'shown.')})`

/** SQL of the id in a subject, as of `sale/9`. */
const idOf = (subject: string): string => `split_part(${subject}, '/', 2)::bigint`

/** SQL condition on a movement of store credit: its document is an own sale, or a return of one. */
const isOwnCredit = (places: Places): string => {
  const id = idOf('t.document')
  const returned = `(select r.sale_id from ${markTable('returns')} r where r.company_id = ${places.company} and r.id = ${id})`
  return `case when t.document like 'sale/%' then ${isOfOwn(id)(places)} else ${isOfOwn(returned)(places)} end`
}

/** SQL condition on the order `t`. */
const isShownOrder = ({ from }: Places): string =>
  `(t.changed_at >= ${from} or t.has_open_alarm or (t.status in ('pending', 'paid') and t.doc ->> 'delivered_at' is null))`

/** SQL condition on a stock movement: of a sale, return or order that is shown, or of none. */
const isOwnMovement = (places: Places): string => {
  const id = idOf('t.record')
  return `case split_part(t.record, '/', 1)
    when 'sale' then ${isOfOwn(id)(places)}
    when 'return' then ${isOfShown('returns', isOwnReturn('actor'), `shown.id = ${id}`)(places)}
    when 'order' then ${isOfShown('orders', isShownOrder, `shown.id = ${id}`)(places)}
    else true end`
}

/**
 * SQL conditions on the rows `t` of each table that shows sales or takings. Orders are handed over by all users, so
 * those that wait are shown too; accounts are received by all users, so the pending ones are; store credit is taken by
 * all users, so its balances are, without the sales that moved it.
 */
export const OWN_ROWS = {
  sales: isOwn,
  returns: isOwnReturn('actor'),
  sale_returns: isOwnReturn('till'),
  offline_returns: (places) =>
    `case when t.state = 'recorded' then ${isOfShown(
      'returns',
      (each) => `t.actor = ${actorOf(each)} and ${isToday('t.returned_at', each)}`,
      'shown.id = t.return_id',
    )(places)} else t.user_id = ${places.user} end`,
  user_returns: ({ user }) => `t.user_id = ${user}`,
  // They wait for a sale that is not known yet.
  awaited_returns: () => 'false',
  credit_movements: isOwnCredit,
  cash_sessions: isOwnSession,
  cash_movements: isOfShown('cash_sessions', isOwnSession, 'shown.id = t.cash_session_id'),
  cash_drawers: ({ user }) => `t.user_id = ${user}`,
  refused_movements: ({ user }) => `t.user_id = ${user}`,
  offline_sales: isOfOwn('t.sale_id'),
  acquirer_payments: isOfOwn('t.sale_id'),
  fiscal_documents: isOfOwn('t.sale_id'),
  refused_sales: ({ user, from }) => `t.user_id = ${user} and (t.settled_at is null or t.settled_at >= ${from})`,
  stock_movements: isOwnMovement,
  orders: isShownOrder,
  receivables: isShownReceivable,
  receivable_payments: isOfShown('receivables', isShownReceivable, 'shown.id = t.account_id'),
} satisfies Readonly<Record<string, (places: Places) => string>>

/** The narrowest span of a rollup, which fits the days of all time zones. */
const SPAN_MINUTES = '15'

/** SQL of tables that are computed from the own sales: rollups are of all sales. */
export const OWN_ROLLUPS = {
  sales_sums: (places) => `
    select ${places.company} as company_id, r.* from (${rollUp(
      `select ${spanOf('t.sold_at', SPAN_MINUTES)} as span, ${SOLD} from ${markTable('sales')} t where ${isOwn(places)}`,
    )}) r`,
  summed_sales: ({ company }) => `
    select ${company} as company_id, 'infinity'::timestamptz as changed_at, 9223372036854775807 as revision,
      ${SPAN_MINUTES} as span_minutes, 'infinity'::timestamptz as filled_to, true as is_filled,
      null::timestamptz as widened_to`,
} satisfies Readonly<Record<string, (places: Places) => string>>
