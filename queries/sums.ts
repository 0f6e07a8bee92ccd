/** `amount` is the total of `count` records, with two decimals. */
export interface Sum {
  readonly count: number
  readonly amount: string
}

/** SQL of an amount in cents as a decimal text. Postgres numerics are exact at any size. */
export const moneySum = (cents: string): string => `(coalesce(${cents}, 0) * 0.01)::text`

/** SQL of a Sum, as JSON, over the rows that meet a condition. */
export const sumColumn = (cents: string, filter: string): string =>
  `json_build_object('count', count(*) filter (where ${filter}), 'amount', ${moneySum(`sum(${cents}) filter (where ${filter})`)})`
