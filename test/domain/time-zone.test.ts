import { expect } from 'chai'
import fc from 'fast-check'
import { addDays, dateInZone, inZone, isTimeZone, startOfDay } from '#domain/instant.ts'
import { explore } from '../support/random.ts'

const ZONES = ['UTC', 'America/Sao_Paulo', 'America/Noronha', 'America/Manaus', ...Intl.supportedValuesOf('timeZone')]
const zone = fc.constantFrom(...ZONES)
const modern = fc.integer({ min: Date.UTC(1973, 0, 1), max: Date.UTC(2100, 0, 1) })
const iso = (ms: number) => new Date(ms).toISOString()

/** Oracle: output of Intl for the zone; Swedish dates have ISO format. */
function intlLocal(ms: number, timeZone: string): string {
  const options = { timeZone, dateStyle: 'short', timeStyle: 'medium' } as const
  return new Intl.DateTimeFormat('sv-SE', options).format(ms).replace(' ', 'T')
}

describe('times in a zone', () => {
  it('are local with milliseconds and a numeric offset [VAL-3]', () => {
    expect(inZone('2026-11-21T11:17:15.123Z', 'America/Sao_Paulo')).to.equal('2026-11-21T08:17:15.123-03:00')
    expect(inZone('2026-11-21T11:17:15.123Z', 'UTC')).to.equal('2026-11-21T11:17:15.123+00:00')
    expect(inZone('2026-11-21T23:30:00.000Z', 'Asia/Kathmandu')).to.equal('2026-11-22T05:15:00.000+05:45')
    expect(inZone('2026-01-01T02:59:59.999Z', 'America/Sao_Paulo')).to.equal('2025-12-31T23:59:59.999-03:00')
    expect(inZone('2024-03-01T01:00:00.000Z', 'America/Noronha')).to.equal('2024-02-29T23:00:00.000-02:00')
  })

  it('change offset at the exact millisecond of a clock change', () => {
    expect(inZone('2018-11-04T02:59:59.999Z', 'America/Sao_Paulo')).to.equal('2018-11-03T23:59:59.999-03:00')
    expect(inZone('2018-11-04T03:00:00.000Z', 'America/Sao_Paulo')).to.equal('2018-11-04T01:00:00.000-02:00')
    expect(inZone('2018-02-18T01:59:59.999Z', 'America/Sao_Paulo')).to.equal('2018-02-17T23:59:59.999-02:00')
    expect(inZone('2018-02-18T02:00:00.000Z', 'America/Sao_Paulo')).to.equal('2018-02-17T23:00:00.000-03:00')
  })

  it('equal the output of Intl, in every zone', async () => {
    await explore(
      fc.property(zone, modern, (timeZone, ms) => {
        const local = inZone(iso(ms), timeZone)
        expect(local).to.match(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/)
        expect(local.slice(0, 19)).to.equal(intlLocal(ms, timeZone))
        expect(Date.parse(local)).to.equal(ms)
        expect(dateInZone(iso(ms), timeZone)).to.equal(local.slice(0, 10))
      }),
      500,
    )
  })

  it('denote the same instant also if local mean time has seconds', async () => {
    expect(inZone('1905-06-01T12:00:00.000Z', 'America/Sao_Paulo')).to.equal('1905-06-01T08:54:00.000-03:06')
    await explore(
      fc.property(zone, fc.integer({ min: Date.UTC(1900, 0, 2), max: Date.UTC(1973, 0, 1) }), (timeZone, ms) => {
        const local = inZone(iso(ms), timeZone)
        expect(Date.parse(local)).to.equal(ms)
        const intl = Date.parse(`${intlLocal(ms, timeZone)}Z`)
        expect(Math.abs(Date.parse(`${local.slice(0, 19)}Z`) - intl)).to.be.at.most(30_000)
      }),
      500,
    )
  })

  it('stay correct when the cache restarts', () => {
    for (let day = 0; day < 21_000; day++) {
      const ms = Date.UTC(1973, 0, 1) + day * 86_400_000
      const [local, wanted] = [inZone(iso(ms), 'Etc/GMT+3').slice(0, 10), iso(ms - 3 * 3_600_000).slice(0, 10)]
      if (local !== wanted) expect(local).to.equal(wanted)
    }
    expect(inZone('2026-11-21T11:17:15.123Z', 'America/Sao_Paulo')).to.equal('2026-11-21T08:17:15.123-03:00')
  }).timeout(20_000)

  it('throw for an unknown zone, each time', () => {
    for (let n = 0; n < 2; n++) expect(() => inZone('2026-11-21T11:17:15.123Z', 'Mars/Olympus')).to.throw(RangeError)
  })
})

describe('start of a day', () => {
  it('is local midnight [VAL-3]', () => {
    expect(startOfDay('2026-11-21', 'America/Sao_Paulo')).to.equal('2026-11-21T03:00:00.000Z')
    expect(startOfDay('2026-11-21', 'UTC')).to.equal('2026-11-21T00:00:00.000Z')
    expect(startOfDay('2026-11-21', 'Pacific/Kiritimati')).to.equal('2026-11-20T10:00:00.000Z')
    expect(startOfDay('2026-11-21', 'Pacific/Pago_Pago')).to.equal('2026-11-21T11:00:00.000Z')
  })

  it('is the first instant of the day if midnight is skipped or repeated, or the day does not exist', () => {
    expect(startOfDay('2018-11-04', 'America/Sao_Paulo')).to.equal('2018-11-04T03:00:00.000Z')
    expect(startOfDay('2018-11-05', 'America/Sao_Paulo')).to.equal('2018-11-05T02:00:00.000Z')
    expect(startOfDay('2018-02-18', 'America/Sao_Paulo')).to.equal('2018-02-18T03:00:00.000Z')
    expect(startOfDay('2023-11-05', 'America/Havana')).to.equal('2023-11-05T04:00:00.000Z')
    expect(startOfDay('2011-12-30', 'Pacific/Apia')).to.equal('2011-12-30T10:00:00.000Z')
    expect(startOfDay('2011-12-31', 'Pacific/Apia')).to.equal('2011-12-30T10:00:00.000Z')
  })

  it('divides the time line without gaps, in every zone', async () => {
    await explore(
      fc.property(zone, modern, (timeZone, ms) => {
        const date = iso(ms).slice(0, 10)
        const start = Date.parse(startOfDay(date, timeZone))
        const end = Date.parse(startOfDay(addDays(date, 1), timeZone))
        expect(end - start).to.be.within(0, 25 * 3_600_000)
        if (end === start) return // skipped day
        expect(dateInZone(iso(start), timeZone)).to.equal(date)
        expect(dateInZone(iso(start - 1), timeZone) < date).to.equal(true)
        for (let before = start - 26 * 3_600_000; before < start; before += 900_000) {
          expect(dateInZone(iso(before), timeZone) < date).to.equal(true)
        }
      }),
      500,
    )
  })
})

describe('time zone names', () => {
  it('are those of the time zone database', () => {
    for (const name of ['America/Sao_Paulo', 'UTC', 'Etc/GMT+3']) expect(isTimeZone(name), name).to.equal(true)
    for (const name of ['', 'Brasília', '-03:00', '+03:00', 'America/Nowhere', 'America/Sao_Paulo ']) {
      expect(isTimeZone(name), name).to.equal(false)
    }
  })
})
