import { limitedText } from './text.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
/** Cached days over all zones: about 27 years for two zones, or a month for all; then the cache restarts. */
const MAX_CACHED_DAYS = 20_000

/**
 * Offsets of a zone during one UTC day, in minutes east of Greenwich: `before` until `changes_ms`, `after` from then
 * on.
 */
interface ZoneDay {
  readonly before: number
  readonly after: number
  /** Unix ms; Infinity on a day without a change. */
  readonly changes_ms: number
  /** Adjacent dates, because the local date may be any of the three. */
  readonly yesterday: string
  readonly today: string
  readonly tomorrow: string
}

interface Zone {
  format: Intl.DateTimeFormat
  days: Map<string, ZoneDay>
}

const zones = new Map<string, Zone>()
let cachedDays = 0

/**
 * Offsets of a zone on a UTC date ('YYYY-MM-DD'). Offsets with seconds (local mean time, before about 1930) are rounded
 * to minutes. Throws RangeError for an unknown zone or a malformed date.
 *
 * Calls Intl once per zone and date: a call takes microseconds, and a list of 200 sales formats 800 instants.
 */
function zoneDay(date: string, timeZone: string): ZoneDay {
  const zone = zones.get(timeZone)
  return zone?.days.get(date) ?? examine(date, timeZone, zone ?? { format: clock(timeZone), days: new Map() })
}

/** Offset at a time (Unix ms), in minutes east of Greenwich. */
export function offsetMinutes(ms: number, timeZone: string): number {
  const day = zoneDay(dateOf(ms), timeZone)
  return ms < day.changes_ms ? day.before : day.after
}

/** Equal offsets at both ends of a day mean no change; on other days bisection finds the change. */
function examine(date: string, timeZone: string, zone: Zone): ZoneDay {
  const start = Date.parse(`${date}T00:00:00.000Z`)
  let low = start
  let high = start + DAY_MS
  const before = askOffset(zone.format, low)
  const after = askOffset(zone.format, high)
  const isChanging = before !== after
  while (isChanging && high - low > SECOND_MS) {
    const middle = Math.floor((low + high) / 2 / SECOND_MS) * SECOND_MS
    if (askOffset(zone.format, middle) === before) low = middle
    else high = middle
  }
  const changes_ms = isChanging ? high : Number.POSITIVE_INFINITY
  const [yesterday, tomorrow] = [dateOf(start - DAY_MS), dateOf(start + DAY_MS)]
  const day = { before, after, changes_ms, yesterday, today: date, tomorrow }
  if (++cachedDays > MAX_CACHED_DAYS) {
    zones.clear()
    zone.days.clear()
    cachedDays = 1
  }
  zone.days.set(date, day)
  zones.set(timeZone, zone)
  return day
}

function dateOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, -14)
}

function clock(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  })
}

function askOffset(format: Intl.DateTimeFormat, ms: number): number {
  const parts = format.format(ms).match(/\d+/g)?.map(Number) ?? []
  const [month = 0, day = 0, year = 0, hour = 0, minute = 0, second = 0] = parts
  return Math.round((Date.UTC(year, month - 1, day, hour, minute, second) - ms) / MINUTE_MS)
}

const DAY_MINUTES = 1440
/** Sum of the character codes of the four digits of 00:00, weighted by their minutes. */
const ZERO_MINUTES = 48 * (600 + 60 + 10 + 1)
/** 'T00:00' to 'T23:59'. */
const MINUTES = Array.from({ length: DAY_MINUTES }, (_, n) => new Date(n * MINUTE_MS).toISOString().slice(10, 16))
const FIRST_MS = Date.UTC(1900, 0, 1)
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999)
const INSTANT =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.(\d{1,9}))?)?(?:Z|([+-])([01]\d|2[0-3]):?([0-5]\d))$/
/** Members with an instant are named `…_at`, `…_since` or `since`; those of the ledger itself stay in UTC. */
const INSTANT_MEMBER =
  /("(?:[a-z_]+_at|(?:[a-z_]+_)?since)": ?")(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}[+-]\d{2}:\d{2})"/g
const INSTANT_EXPECTED = 'deve ser uma data com hora ISO 8601 com fuso horário, como "2026-11-21T08:17:15-03:00"'
const DATE_EXPECTED = 'deve ser uma data existente no formato AAAA-MM-DD, como "2026-11-21"'

/**
 * Instant: ISO 8601 date and time, optional seconds with a fraction of 1 to 9 digits (truncated to milliseconds),
 * and a mandatory offset, with or without its colon; valid dates of the years 1900 to 9999. Parsed to UTC,
 * 'YYYY-MM-DDTHH:mm:ss.sssZ', so that instants sort as texts.
 */
export const Instant = limitedText(60, INSTANT_EXPECTED)
  // One check both validates and rewrites: a sale has several instants, and each is parsed only once.
  .check((payload) => {
    const utc = utcInstant(payload.value)
    if (utc !== null) payload.value = utc
    else payload.issues.push({ code: 'custom', input: payload.value, message: INSTANT_EXPECTED, continue: false })
  })
  .meta({ format: 'date-time' })

/** Date 'YYYY-MM-DD', valid, of the years 1900 to 9999. */
export const CalendarDate = limitedText(20, DATE_EXPECTED)
  .regex(/^\d{4}-\d{2}-\d{2}$/, { error: DATE_EXPECTED, abort: true })
  .refine(
    (date) => isRealDate(Number(date.slice(0, 4)), Number(date.slice(5, 7)), Number(date.slice(8))),
    DATE_EXPECTED,
  )
  .meta({ format: 'date' })

/** Facts of shops are not older. */
const FIRST_FACT = '1990-01-01T00:00:00.000Z'
/** Lead of a till's clock, in years, beyond which its facts are refused. */
const TILL_YEARS_AHEAD = 10

export const IMPOSSIBLE = 'não pode ser antes de 1990 nem estar mais de um dia no futuro'

/** Whether a past event is dated impossibly: clocks and zones differ by less than a day. */
export const isImpossible = (utcInstant: string, now: string): boolean =>
  utcInstant < FIRST_FACT || Date.parse(utcInstant) - Date.parse(now) > DAY_MS

export const IMPOSSIBLE_AT_TILL = `deve estar entre 1990 e daqui a ${TILL_YEARS_AHEAD} anos: confira o relógio do caixa`

/** As `isImpossible`, for what a till reports: its clock may be wrong. */
export const isImpossibleAtTill = (utcInstant: string, now: string): boolean =>
  utcInstant < FIRST_FACT || utcInstant > `${Number(now.slice(0, 4)) + TILL_YEARS_AHEAD}${now.slice(4)}`

/** Context of a query by day: the time zone, and its current day ('YYYY-MM-DD'). */
export interface Calendar {
  readonly timezone: string
  readonly today: string
}

/** The day `n` days after `date` (before it if negative), clamped to 1900-01-01 and 9999-12-31. */
export function addDays(date: string, n: number): string {
  const ms = Date.parse(`${date}T00:00:00.000Z`) + n * DAY_MS
  return new Date(Math.min(Math.max(ms, FIRST_MS), LAST_MS)).toISOString().slice(0, 10)
}

/** `count` days, beginning with `first`; fewer where the calendar ends before. */
export function daysFrom(first: string, count: number): string[] {
  const days: string[] = []
  for (let n = 0; n < count; n++) {
    const day = addDays(first, n)
    // Beyond its end the calendar stays at its last day.
    if (day === days.at(-1)) break
    days.push(day)
  }
  return days
}

/** A UTC instant so many milliseconds later, as Instant gives it. */
export const addMilliseconds = (utcInstant: string, ms: number): string =>
  ms === 0 ? utcInstant : new Date(Date.parse(utcInstant) + ms).toISOString()

/** The day `n` years and `days` days later; 29 February becomes 28 February in other years. Clamped as by `addDays`. */
export function addYears(date: string, n: number, days = 0): string {
  const [year, monthDay] = [String(Number(date.slice(0, 4)) + n).padStart(4, '0'), date.slice(4)]
  if (Number(year) > 9999) return '9999-12-31'
  const day = isRealDate(Number(year), Number(date.slice(5, 7)), Number(date.slice(8))) ? monthDay : '-02-28'
  return addDays(`${year}${day}`, days)
}

/** The same day `n` months later, or the last one of a shorter month. Clamped as by `addDays`. */
export function addMonths(date: string, n: number): string {
  const months = Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7)) - 1 + n
  const [year, month] = [Math.floor(months / 12), (months % 12) + 1]
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
  const day = Math.min(Number(date.slice(8)), lastDay)
  const first = `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-01`
  return year > 9999 ? '9999-12-31' : addDays(first, day - 1)
}

/**
 * Formats a UTC instant (format of Instant) in a zone, with milliseconds and offset: '2026-11-21T08:17:15.123-03:00'.
 * UTC is '+00:00', never 'Z'. Throws RangeError for an unknown zone.
 */
export function inZone(utcInstant: string, timeZone: string): string {
  // Works on text where possible: parsing and printing a Date costs five times as much, several times per sale.
  const day = zoneDay(utcInstant.slice(0, -14), timeZone)
  const offset = offsetOn(day, utcInstant)
  const minute = minuteOfDay(utcInstant) + offset
  return (
    dateOn(day, minute) + MINUTES[(minute + DAY_MINUTES) % DAY_MINUTES] + utcInstant.slice(-8, -1) + offsetText(offset)
  )
}

/**
 * JSON text of an object, as `JSON.stringify` prints it, with its instants converted to a zone. Finds members by name.
 * Text values cannot match, because their quotes are escaped.
 */
export function instantsInZone(json: string, timeZone: string): string {
  return json.replace(INSTANT_MEMBER, (_all, member: string, instant: string) => {
    return `${member}${inZone(new Date(instant).toISOString(), timeZone)}"`
  })
}

/** Local date 'YYYY-MM-DD' of a UTC instant in a zone. */
export function dateInZone(utcInstant: string, timeZone: string): string {
  const day = zoneDay(utcInstant.slice(0, -14), timeZone)
  return dateOn(day, minuteOfDay(utcInstant) + offsetOn(day, utcInstant))
}

/**
 * UTC instant at which a local day starts: its first midnight, or the time to which the clock jumps if midnight is
 * skipped (America/Sao_Paulo on 2018-11-04) or the whole day is (Pacific/Apia on 2011-12-30, an empty day).
 */
export function startOfDay(date: string, timeZone: string): string {
  const midnight = Date.parse(`${date}T00:00:00.000Z`)
  const local = (ms: number) => ms + offsetMinutes(ms, timeZone) * MINUTE_MS
  const { yesterday, today, tomorrow } = zoneDay(date, timeZone)
  const days = [yesterday, today, tomorrow].map((each) => zoneDay(each, timeZone))
  const midnights = days.flatMap(({ before, after }) => [midnight - before * MINUTE_MS, midnight - after * MINUTE_MS])
  const candidates = [...midnights, ...days.map((day) => day.changes_ms)].filter(Number.isFinite)
  const starts = candidates.filter((ms) => local(ms) >= midnight && local(ms - 1) < midnight)
  return new Date(Math.min(...starts)).toISOString()
}

/**
 * UTC instant of a local time 'YYYY-MM-DDTHH:mm' (optional seconds); null for other text. A repeated local time gives
 * the first instant; a skipped one is read with the offset from before the change.
 */
export function localInstant(local: string, timeZone: string): string | null {
  const match = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.exec(local)
  const utc = match && utcInstant(`${local}${match[2] ? '' : ':00'}Z`)
  if (!match || utc === null) return null
  const wall = Date.parse(utc)
  const { before, after } = zoneDay(match[1] as string, timeZone)
  const offsets = [before, after, offsetMinutes(wall, timeZone)]
  const shown = (ms: number) => ms + offsetMinutes(ms, timeZone) * MINUTE_MS
  const fitting = offsets.map((offset) => wall - offset * MINUTE_MS).filter((ms) => shown(ms) === wall)
  return new Date(fitting.length > 0 ? Math.min(...fitting) : wall - before * MINUTE_MS).toISOString()
}

/** Whether the name is a time zone ('America/Sao_Paulo'); bare offsets like '-03:00' are not. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

function utcInstant(text: string): string | null {
  const match = INSTANT.exec(text)
  if (!match) return null
  const [, year, month, day, hour, minute, second = 0, fraction = '', sign, offsetHours, offsetMinutes] = match
  if (!isRealDate(Number(year), Number(month), Number(day))) return null
  const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second))
  const offset = sign ? (Number(offsetHours) * 60 + Number(offsetMinutes)) * (sign === '-' ? -MINUTE_MS : MINUTE_MS) : 0
  const utc = local - offset + Number(fraction.slice(0, 3).padEnd(3, '0'))
  return utc >= FIRST_MS && utc <= LAST_MS ? new Date(utc).toISOString() : null
}

function offsetOn(day: ZoneDay, utcInstant: string): number {
  return day.before === day.after || Date.parse(utcInstant) < day.changes_ms ? day.before : day.after
}

function minuteOfDay(utcInstant: string): number {
  const at = utcInstant.length - 13 // 'HH:mm:ss.sssZ' is the end
  const tens = utcInstant.charCodeAt(at) * 600 + utcInstant.charCodeAt(at + 3) * 10
  return tens + utcInstant.charCodeAt(at + 1) * 60 + utcInstant.charCodeAt(at + 4) - ZERO_MINUTES
}

function dateOn(day: ZoneDay, minute: number): string {
  if (minute < 0) return day.yesterday
  return minute < DAY_MINUTES ? day.today : day.tomorrow
}

function offsetText(minutes: number): string {
  return (minutes < 0 ? '-' : '+') + MINUTES[Math.abs(minutes)]?.slice(1)
}

function isRealDate(year: number, month: number, day: number): boolean {
  if (year < 1900 || month < 1 || month > 12 || day < 1) return false
  return day <= 28 || day <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

/** National holidays on fixed days, as MM-DD, and the year from which on each is one. */
const FIXED: readonly (readonly [day: string, name: string, since?: number])[] = [
  ['01-01', 'Confraternização Universal'],
  ['04-21', 'Tiradentes'],
  ['05-01', 'Dia do Trabalho'],
  ['09-07', 'Independência'],
  ['10-12', 'Nossa Senhora Aparecida'],
  ['11-02', 'Finados'],
  ['11-15', 'Proclamação da República'],
  ['11-20', 'Consciência Negra', 2024],
  ['12-25', 'Natal'],
]

/** Days from Easter on which banks and acquirers do not pay. */
const FROM_EASTER: readonly (readonly [days: number, name: string])[] = [
  [-48, 'Carnaval'],
  [-47, 'Carnaval'],
  [-2, 'Sexta-feira Santa'],
  [60, 'Corpus Christi'],
]

/** Easter Sunday of a year, by the Gregorian computus of Meeus, Jones and Butcher. */
export function easterSunday(year: number): string {
  const [a, b, c] = [year % 19, Math.floor(year / 100), year % 100]
  const [d, e] = [Math.floor(b / 4), b % 4]
  const g = Math.floor((b - Math.floor((b + 8) / 25) + 1) / 3)
  const h = (19 * a + b - d - g + 15) % 30
  const l = (32 + 2 * e + 2 * Math.floor(c / 4) - h - (c % 4)) % 7
  const m = Math.floor((a + 11 * h + 22 * l) / 451)
  const n = h + l - 7 * m + 114
  const month = String(Math.floor(n / 31)).padStart(2, '0')
  return `${String(year).padStart(4, '0')}-${month}-${String((n % 31) + 1).padStart(2, '0')}`
}

/** Name of the national holiday on a day; null on others. Saturdays and Sundays are none. */
export function holidayOn(date: string): string | null {
  const year = Number(date.slice(0, 4))
  const fixed = FIXED.find(([day, , since = 0]) => day === date.slice(5) && year >= since)
  if (fixed) return fixed[1]
  const easter = easterSunday(year)
  return FROM_EASTER.find(([days]) => addDays(easter, days) === date)?.[1] ?? null
}

const isWeekend = (date: string): boolean => [0, 6].includes(new Date(`${date}T00:00:00Z`).getUTCDay())

/** The longest run of days without work is five: a weekend, and Carnival. */
const MAX_RUN = 10

/** The day itself if acquirers pay on it, else the next one on which they do. */
export function workingDayFrom(date: string): string {
  let day = date
  for (let n = 0; n < MAX_RUN && (isWeekend(day) || holidayOn(day) !== null); n++) day = addDays(day, 1)
  return day
}
