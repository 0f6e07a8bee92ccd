const MINUTE = 60
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** Seconds after the latest attempt to pay an order at which the provider is asked, whatever was notified (DESIGN section 5). */
export const SWEEP_SECONDS: readonly number[] = [
  ...[1, 5, 15].map((minutes) => minutes * MINUTE),
  ...[1, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 3, 4, 5, 6, 7].map((days) => days * DAY),
]
