import { addDays } from './instant.ts'

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
export function easterOf(year: number): string {
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
  const easter = easterOf(year)
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
