const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

const formats = new Map<string, Intl.DateTimeFormat>()
const offsets = new Map<string, number>()

/** Instant in a time zone, as `2026-03-10T11:30:00.000-03:00`. Offsets are cached by the hour, because Intl is slow. */
export function inZone(at: Date, zone: string): string {
  const hour = `${zone} ${Math.floor(at.getTime() / HOUR_MS)}`
  let offset = offsets.get(hour)
  if (offset === undefined) {
    offset = offsetMinutes(at, zone)
    if (offsets.size > 10_000) offsets.clear()
    offsets.set(hour, offset)
  }
  const local = new Date(at.getTime() + offset * MINUTE_MS).toISOString().slice(0, -1)
  const digits = (value: number) => String(value).padStart(2, '0')
  return `${local}${offset < 0 ? '-' : '+'}${digits(Math.floor(Math.abs(offset) / 60))}:${digits(Math.abs(offset) % 60)}`
}

function offsetMinutes(at: Date, zone: string): number {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' })
    formats.set(zone, format)
  }
  const name = format.formatToParts(at).find((part) => part.type === 'timeZoneName')?.value ?? ''
  const match = /GMT([+-])(\d\d):(\d\d)/.exec(name)
  return match ? (match[1] === '-' ? -1 : 1) * (Number(match[2]) * 60 + Number(match[3])) : 0
}
