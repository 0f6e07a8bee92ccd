/** How many, and what they add up to, with two decimals. */
export interface Sum {
  readonly count: number
  readonly amount: string
}

/** SQL of an amount in cents as a decimal text. Postgres adds and divides, whose numbers have no end and no rounding here. */
export const money = (cents: string): string => `(coalesce(${cents}, 0) * 0.01)::text`

/** SQL of a Sum as JSON: of the rows that a condition selects. */
export const sum = (cents: string, filter: string): string =>
  `json_build_object('count', count(*) filter (where ${filter}), 'amount', ${money(`sum(${cents}) filter (where ${filter})`)})`
