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

/**
 * SQL of the units of a sale: each line counts its quantity, a weighed or measured one (a fraction) as one unit, because
 * kilograms and pieces have no sum. `countUnits` (domain) counts the same.
 */
export const unitsOf = (sale: string): string => `(
  select coalesce(sum(case when q.n = trunc(q.n) then q.n else 1 end), 0)::bigint
  from (select (line ->> 'quantity')::numeric as n from json_array_elements(${sale}.doc -> 'items') line) q)`
