/** `amount` is what `count` records add up to, with two decimals. */
export interface Sum {
  readonly count: number
  readonly amount: string
}

/** SQL of an amount in cents as a decimal text. Postgres does the arithmetic: its numerics are exact at any size. */
export const money = (cents: string): string => `(coalesce(${cents}, 0) * 0.01)::text`

/** SQL of a Sum, as JSON, of the rows that meet a condition. */
export const sum = (cents: string, filter: string): string =>
  `json_build_object('count', count(*) filter (where ${filter}), 'amount', ${money(`sum(${cents}) filter (where ${filter})`)})`
