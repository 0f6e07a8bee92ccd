import { addDays, type Calendar, daysFrom, inZone, localInstant, startOfDay } from '#domain/instant.ts'
import { formatDay } from '#domain/person-values.ts'
import { isOutage } from '#postgres/database.ts'
import { refreshSalesRollups } from '#projections/sales-rollups.ts'
import type { Reader } from '#queries/reader.ts'
import type { SalesPeriod } from '#queries/sales-sums.ts'
import type { PageContext } from '../panel-route.ts'

const HOUR_MS = 3_600_000
/** More bars would be too narrow on a phone. */
const MAX_DAY_BARS = 62
/** Bound of a period, in days. */
const MAX_DAYS = 366
/** Beyond these years the days before or after a range may be beyond the calendar (addDays). */
const [FIRST_YEAR, LAST_YEAR] = ['1902', '9998']

export const PERIODS = [
  ['hoje', 'Hoje'],
  ['ontem', 'Ontem'],
  ['7', '7 dias'],
  ['30', '30 dias'],
  ['mes', 'Este mês'],
] as const
type PeriodName = (typeof PERIODS)[number][0] | 'intervalo'

/** Period of the start page: days of the company, both inclusive. */
export interface StartPeriod extends SalesPeriod {
  readonly name: PeriodName
  /** Follows `Vendas `: `de hoje`. */
  readonly words: string
  readonly from: string
  readonly to: string
  readonly bar: 'hora' | 'dia' | 'mês'
  /** Label and days of each bar, both inclusive. */
  readonly bars: readonly { readonly label: string; readonly from: string; readonly to: string }[]
  /** Days of the comparison: `na segunda passada (16/11)`. */
  readonly compared: string
  /** Whether it is compared up to the same hour. */
  readonly isUntilNow: boolean
  /** Both, in words: `na segunda passada (16/11), até a mesma hora`. */
  readonly than: string
}

/** Messages by field of an invalid range. */
export interface WrongRange {
  readonly field: 'de' | 'ate'
  readonly message: string
}

type QueryValues = Readonly<Record<string, string>>

/** The period of `?periodo=` at a moment (UTC); today by default (PANEL-120). */
export function parsePeriod(asked: QueryValues, calendar: Calendar, now: string): StartPeriod | WrongRange {
  const { today } = calendar
  const month = `${today.slice(0, 8)}01`
  switch (asked.periodo) {
    case 'ontem': {
      const yesterday = addDays(today, -1)
      const compared = weekdayBefore(yesterday)
      return toPeriod({ name: 'ontem', words: 'de ontem', from: yesterday, to: yesterday, compared }, -7, calendar, now)
    }
    case '7':
    case '30': {
      const days = Number(asked.periodo)
      const from = addDays(today, 1 - days)
      const compared = `nos ${days} dias anteriores`
      const words = `dos últimos ${days} dias`
      return toPeriod({ name: asked.periodo, words, from, to: today, compared }, -days, calendar, now)
    }
    case 'mes': {
      const before = `${addDays(month, -1).slice(0, 8)}01`
      const compared = 'nos mesmos dias do mês passado'
      return toPeriod({ name: 'mes', words: 'deste mês', from: month, to: today, compared }, before, calendar, now)
    }
    case 'intervalo':
      return rangeOf(asked, calendar, now)
    default: {
      const compared = weekdayBefore(today)
      return toPeriod({ name: 'hoje', words: 'de hoje', from: today, to: today, compared }, -7, calendar, now)
    }
  }
}

export const WEEKDAYS = ['domingo', 'segunda', 'terça', 'quarta', 'quinta', 'sexta', 'sábado'] as const

/** The same weekday of the week before. */
function weekdayBefore(day: string): string {
  const before = addDays(day, -7)
  const weekday = WEEKDAYS[new Date(`${before}T00:00:00Z`).getUTCDay()] ?? ''
  const last = weekday.endsWith('a') ? `na ${weekday} passada` : `no ${weekday} passado`
  return `${last} (${formatDay(before).slice(0, 5)})`
}

function rangeOf({ de = '', ate = '' }: QueryValues, calendar: Calendar, now: string): StartPeriod | WrongRange {
  const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text) && localInstant(`${text}T12:00`, 'UTC') !== null
  if (!isDay(de)) return { field: 'de', message: 'informe o primeiro dia' }
  if (!isDay(ate)) return { field: 'ate', message: 'informe o último dia' }
  for (const [field, date] of [
    ['de', de],
    ['ate', ate],
  ] as const)
    if (date < FIRST_YEAR || date > `${LAST_YEAR}-12-31`)
      return { field, message: `deve ser um dia dos anos ${FIRST_YEAR} a ${LAST_YEAR}` }
  if (de > ate) return { field: 'ate', message: `não pode ser antes de ${formatDay(de)}, o primeiro dia` }
  const days = (Date.parse(ate) - Date.parse(de)) / (24 * HOUR_MS) + 1
  if (days > MAX_DAYS) return { field: 'ate', message: `o período pode ter até ${MAX_DAYS} dias` }
  const words = de === ate ? `de ${formatDay(de)}` : `de ${formatDay(de)} a ${formatDay(ate)}`
  const compared = days === 1 ? `em ${formatDay(addDays(de, -1))}` : `nos ${days} dias anteriores`
  return toPeriod({ name: 'intervalo', words, from: de, to: ate, compared }, -days, calendar, now)
}

type PeriodDays = Pick<StartPeriod, 'name' | 'words' | 'from' | 'to' | 'compared'>

/** `firstBefore`: days back, or the first day of the comparison. A running period is compared up to the same hour. */
function toPeriod(
  wanted: PeriodDays,
  firstBefore: number | string,
  { timezone, today }: Calendar,
  now: string,
): StartPeriod {
  const { from, to } = wanted
  const days = (Date.parse(to) - Date.parse(from)) / (24 * HOUR_MS)
  const first = typeof firstBefore === 'string' ? firstBefore : addDays(from, firstBefore)
  const shifted = addDays(first, days)
  const last = shifted < from ? shifted : addDays(from, -1)
  const time = inZone(now, timezone).slice(11, 23)
  const end = to === today && last === shifted ? localInstant(`${last}T${time}`, timezone) : null
  const partsOf = (day: string, count: number) => {
    const dates = daysFrom(day, count)
    const parts = days === 0 ? hoursOf(day, timezone) : days < MAX_DAY_BARS ? daysOf(dates) : monthsOf(dates)
    const starts = parts.bars.map((bar) => ('at' in bar ? (bar.at as string) : startOfDay(bar.from, timezone)))
    return { parts, bounds: [...starts, startOfDay(addDays(day, count), timezone)] }
  }
  const { parts, bounds } = partsOf(from, days + 1)
  const daysBefore = (Date.parse(last) - Date.parse(first)) / (24 * HOUR_MS) + 1
  const before = {
    from: startOfDay(first, timezone),
    to: end ?? startOfDay(addDays(last, 1), timezone),
    bounds: partsOf(first, daysBefore).bounds,
  }
  const bars = parts.bars.map(({ label, from, to }) => ({ label, from, to }))
  const isUntilNow = end !== null
  const than = isUntilNow ? `${wanted.compared}, até a mesma hora` : wanted.compared
  return { ...wanted, isUntilNow, than, ...parts, bars, bounds, before }
}

function hoursOf(date: string, timezone: string) {
  const begin = Date.parse(startOfDay(date, timezone))
  const hours = Math.ceil((Date.parse(startOfDay(addDays(date, 1), timezone)) - begin) / HOUR_MS)
  const bars = Array.from({ length: hours }, (_, hour) => {
    const at = new Date(begin + hour * HOUR_MS).toISOString()
    return { at, label: `${Number(inZone(at, timezone).slice(11, 13))}h`, from: date, to: date }
  })
  return { bar: 'hora', bars } as const
}

const daysOf = (dates: readonly string[]) =>
  ({ bar: 'dia', bars: dates.map((date) => ({ label: formatDay(date).slice(0, 5), from: date, to: date })) }) as const

function monthsOf(dates: readonly string[]) {
  const bars: { label: string; from: string; to: string }[] = []
  for (const date of dates) {
    const last = bars.at(-1)
    if (last?.from.slice(0, 7) === date.slice(0, 7)) last.to = date
    else bars.push({ label: `${date.slice(5, 7)}/${date.slice(2, 4)}`, from: date, to: date })
  }
  return { bar: 'mês', bars } as const
}

/** Longest wait of a page for a refresh of the rollup, in ms; the projector continues it. */
const PATIENCE_MS = 1_000

/** Refreshes the rollup on the primary and reads it there; if the primary is away, a replica's state is shown. */
export async function readSalesRollups<T>(
  { context, primary, readModel: { reader, companyId } }: PageContext,
  read: (reader: Reader) => Promise<T>,
): Promise<T> {
  const until = performance.now() + PATIENCE_MS
  try {
    await refreshSalesRollups(context.reads.poolOf(companyId), companyId, () => performance.now() > until)
    return await read(primary)
  } catch (error) {
    if (!isOutage(error)) throw error
    return read(reader)
  }
}
