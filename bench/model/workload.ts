/**
 * Daily work of companies, as the simulated day plays it and the model counts it. Pure; all figures that are not
 * derived are assumptions, with their reasons in docs/scale.md.
 */

/** Size class of companies. Shares add up to 1. */
export interface Size {
  readonly name: string
  /** Share of all companies. */
  readonly share: number
  readonly salesADay: number
  readonly tills: number
  /** Programs that poll for changes and receive a webhook for each sale. */
  readonly integrators: number
  /** Visits to the panel. */
  readonly visitsADay: number
}

/**
 * Shares from Sebrae's count of small businesses (2018: 7,678,661 MEI, 4,143,505 ME, 1,130,679 EPP), plus a few larger
 * ones. Sales follow from the legal limits of turnover (R$ 81,000, 360,000 and 4,800,000 a year), at R$ 30 per sale on
 * 300 days.
 */
export const SIZES: readonly Size[] = [
  { name: 'MEI', share: 0.59, salesADay: 8, tills: 1, integrators: 0.02, visitsADay: 0.3 },
  { name: 'ME', share: 0.32, salesADay: 35, tills: 1, integrators: 0.2, visitsADay: 1 },
  { name: 'EPP', share: 0.085, salesADay: 250, tills: 3, integrators: 1, visitsADay: 4 },
  { name: 'larger', share: 0.005, salesADay: 2_000, tills: 12, integrators: 2, visitsADay: 15 },
]

/** Calls of clients; an opening is three requests, a report two. */
export const CALLED = ['sale', 'upload', 'opening', 'poll', 'page', 'report'] as const
/**
 * Calls and resulting work: deliveries, growth of ledger trees within a minute of a sale, and the daily check of a
 * company's tables.
 */
export const KINDS = [...CALLED, 'delivery', 'growth', 'check'] as const
export type Kind = (typeof KINDS)[number]
export type PerKind<T> = Readonly<Record<Kind, T>>

export const perKind = <T>(of: (kind: Kind) => T): PerKind<T> =>
  Object.fromEntries(KINDS.map((kind) => [kind, of(kind)])) as PerKind<T>

/** Behaviour of companies, independent of their size. */
export interface Habits {
  /** Share of sales by `POST /sales` of an integrator; the others are uploaded by tills. */
  readonly soldByApi: number
  /** Sales per upload of a till. */
  readonly uploadedAtOnce: number
  /** Minutes between two polls of an integrator, day and night. */
  readonly pollMinutes: number
  readonly pagesAVisit: number
  /** Minutes that the last page of a visit stays open and follows changes. */
  readonly followedMinutes: number
  /** Reports and pages of 200 sales read by an integrator on the last day of a month. */
  readonly reportsAtMonthEnd: number
}

export const HABITS: Habits = {
  soldByApi: 0.2,
  uploadedAtOnce: 3,
  pollMinutes: 5,
  pagesAVisit: 6,
  followedMinutes: 4,
  reportsAtMonthEnd: 12,
}

/** Sums and means of a class, or of all. */
export const meanOf = (sizes: readonly Size[], of: (size: Size) => number): number =>
  sizes.reduce((sum, size) => sum + size.share * of(size), 0)

/** Calls of each kind by a company of this size on the last day of a month, its busiest. */
export function callsADay(size: Size, habits: Habits): PerKind<number> {
  const { salesADay, tills, integrators, visitsADay } = size
  return {
    sale: salesADay * habits.soldByApi,
    upload: (salesADay * (1 - habits.soldByApi)) / habits.uploadedAtOnce,
    opening: tills,
    poll: (integrators * MINUTES_A_DAY) / habits.pollMinutes,
    page: visitsADay * habits.pagesAVisit,
    report: integrators * habits.reportsAtMonthEnd,
    // With one integrator or more each sale is delivered once per company; with 0.2, in one of five companies.
    delivery: salesADay * Math.min(1, integrators),
    // Minutes with a sale, of the opening minutes of a shop.
    growth: OPEN_MINUTES * (1 - Math.exp(-salesADay / OPEN_MINUTES)),
    check: 1,
  }
}

export const MINUTES_A_DAY = 1_440
const OPEN_MINUTES = 600

/** Shares of a day's calls by hour of the day; they add up to 100. */
const SHOP_HOURS = [0, 0, 0, 0, 0, 0, 1, 3, 5, 7, 9, 11, 12, 8, 7, 6, 6, 8, 9, 5, 2, 1, 0, 0]
/** Tills start when shops open, most at nine. */
const OPENING_HOURS = [0, 0, 0, 0, 0, 2, 4, 10, 26, 40, 15, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
const PANEL_HOURS = [0, 0, 0, 0, 0, 0, 1, 3, 7, 10, 10, 8, 6, 6, 7, 8, 8, 8, 7, 5, 3, 2, 1, 0]
/** Monthly reports run after closing time, or by programs at midnight. */
const MONTH_END_HOURS = [18, 4, 2, 2, 2, 2, 2, 2, 3, 4, 3, 2, 2, 2, 2, 3, 4, 6, 8, 8, 7, 5, 4, 3]

const HOURS: PerKind<readonly number[]> = {
  sale: SHOP_HOURS,
  upload: SHOP_HOURS,
  delivery: SHOP_HOURS,
  growth: SHOP_HOURS,
  check: Array.from({ length: 24 }, () => 100 / 24),
  opening: OPENING_HOURS,
  poll: Array.from({ length: 24 }, () => 100 / 24),
  page: PANEL_HOURS,
  report: MONTH_END_HOURS,
}

/** Share of an hour's calls in its first minutes: shops open, and programs start, on the hour. */
const BURSTS: Partial<PerKind<{ readonly minutes: number; readonly share: number }>> = {
  opening: { minutes: 5, share: 0.7 },
  report: { minutes: 5, share: 0.5 },
}
/** Share of polls at minutes divisible by five; others start at any minute. */
const POLLS_BY_THE_CLOCK = 0.5
const POLL_CLOCK_MINUTES = 5

/** Share of a day's calls of a kind in a minute (0 to 1439); those of a day add up to 1. */
export function shareOfMinute(kind: Kind, minute: number): number {
  const ofHour = ((HOURS[kind][Math.floor(minute / 60)] ?? 0) / 100) as number
  const inHour = minute % 60
  if (kind === 'poll') {
    const byTheClock = inHour % POLL_CLOCK_MINUTES === 0 ? POLL_CLOCK_MINUTES * POLLS_BY_THE_CLOCK : 0
    return (ofHour * (1 - POLLS_BY_THE_CLOCK + byTheClock)) / 60
  }
  const burst = BURSTS[kind]
  if (!burst) return ofHour / 60
  return inHour < burst.minutes
    ? (ofHour * burst.share) / burst.minutes
    : (ofHour * (1 - burst.share)) / (60 - burst.minutes)
}
