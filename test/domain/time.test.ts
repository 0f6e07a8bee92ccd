import { expect } from 'chai'
import fc from 'fast-check'
import { addDays, CalendarDate, daysFrom, easterSunday, holidayOn, Instant, workingDayFrom } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { toAcquiredPayment } from '#domain/payment-rules.ts'

const FIRST = Date.UTC(1900, 0, 2)
const LAST = Date.UTC(9999, 11, 30)
const time = fc.integer({ min: FIRST, max: LAST })
const iso = (ms: number) => new Date(ms).toISOString()

describe('instant', () => {
  it('converts every offset and fraction to UTC with milliseconds', () => {
    const cases = {
      '2026-11-21T08:17:15-03:00': '2026-11-21T11:17:15.000Z',
      '2026-11-21T08:17:15.1-03:00': '2026-11-21T11:17:15.100Z',
      '2026-11-21T08:17-03:00': '2026-11-21T11:17:00.000Z',
      '2026-11-21T08:17Z': '2026-11-21T08:17:00.000Z',
      '2026-11-21T08:17:15-0300': '2026-11-21T11:17:15.000Z',
      '2026-11-21T08:17:15.5+0530': '2026-11-21T02:47:15.500Z',
      '2026-11-21T08:17-0300': '2026-11-21T11:17:00.000Z',
      '2026-11-21T08:17:15.123456789Z': '2026-11-21T08:17:15.123Z',
      '2026-11-21T08:17:15.999999999Z': '2026-11-21T08:17:15.999Z',
      '2026-12-31T23:59:59-03:00': '2027-01-01T02:59:59.000Z',
      '2024-02-29T00:00:00+05:45': '2024-02-28T18:15:00.000Z',
      '1969-12-31T23:59:59.9Z': '1969-12-31T23:59:59.900Z',
      '2026-01-01T00:00:00-00:00': '2026-01-01T00:00:00.000Z',
    }
    for (const [text, utc] of Object.entries(cases)) expect(Instant.parse(text), text).to.equal(utc)
  })

  it('refuses everything but a valid ISO date and time with an offset [VAL-3]', () => {
    const refused = [
      '2026-11-21T08:17',
      '2026-11-21T08Z',
      '2026-11-21T08:17.5Z',
      '2026-11-21T08:17-030',
      '2026-11-21T08:17-2500',
      '',
      '2026-11-21',
      '2026-11-21T08:17:15',
      '2026-11-21 08:17:15Z',
      '2026-11-21t08:17:15z',
      '2026-02-30T00:00:00Z',
      '2025-02-29T00:00:00Z',
      '1900-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-00-10T00:00:00Z',
      '2026-04-31T00:00:00Z',
      '2026-01-00T00:00:00Z',
      '2026-11-21T24:00:00Z',
      '2026-11-21T23:60:00Z',
      '2016-12-31T23:59:60Z',
      '2026-11-21T08:17:15.Z',
      '2026-11-21T08:17:15.1234567890Z',
      '2026-11-21T08:17:15,5Z',
      '2026-11-21T08:17:15-03',
      '2026-11-21T08:17:15+24:00',
      '2026-11-21T08:17:15-03:60',
      '1899-12-31T23:59:59Z',
      '1899-12-31T23:59:59-03:00',
      '1900-01-01T00:00:00+01:00',
      '9999-12-31T23:59:59-01:00',
      '+10000-01-01T00:00:00Z',
      ' 2026-11-21T08:17:15Z',
      '2026-11-21T08:17:15Z\n',
      1763713035,
      null,
      undefined,
      new Date(0),
    ]
    for (const value of refused) expect(Instant.safeParse(value).success, String(value)).to.equal(false)
  })

  it('denotes the same instant in any offset', () => {
    fc.assert(
      fc.property(time, fc.integer({ min: -1439, max: 1439 }), (ms, offset) => {
        const size = Math.abs(offset)
        const zone = `${offset < 0 ? '-' : '+'}${String(Math.floor(size / 60)).padStart(2, '0')}:${String(size % 60).padStart(2, '0')}`
        fc.pre(ms + offset * 60_000 >= FIRST && ms + offset * 60_000 <= LAST)
        expect(Instant.parse(iso(ms + offset * 60_000).replace('Z', zone))).to.equal(iso(ms))
      }),
    )
  })

  it('parses its own output unchanged, and sorts as text', () => {
    fc.assert(
      fc.property(time, time, (a, b) => {
        expect(Instant.parse(iso(a))).to.equal(iso(a))
        expect(Instant.parse(iso(a)) < Instant.parse(iso(b))).to.equal(a < b)
      }),
    )
  })
})

describe('calendar date', () => {
  it('accepts valid dates only', () => {
    for (const date of ['1900-01-01', '2024-02-29', '2000-02-29', '2026-11-21', '9999-12-31']) {
      expect(CalendarDate.safeParse(date), date).to.deep.equal({ success: true, data: date })
    }
    for (const value of [
      '2026-02-29',
      '1900-02-29',
      '2026-04-31',
      '2026-00-01',
      '2026-13-01',
      '2026-01-00',
      '2026-01-32',
      '1899-12-31',
      '26-01-01',
      '2026-1-1',
      '21/11/2026',
      '2026-11-21T00:00:00Z',
      '',
      20261121,
      null,
    ]) {
      expect(CalendarDate.safeParse(value).success, String(value)).to.equal(false)
    }
  })

  it('agrees with Date about which dates exist', () => {
    const part = (max: number) => fc.integer({ min: 0, max })
    fc.assert(
      fc.property(fc.integer({ min: 1900, max: 9999 }), part(13), part(32), (year, month, day) => {
        const date = `${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
        const ms = Date.parse(`${date}T00:00:00Z`)
        const isReal = !Number.isNaN(ms) && iso(ms).slice(0, 10) === date
        expect(CalendarDate.safeParse(date).success).to.equal(isReal)
      }),
    )
  })

  it('counts days up to the limits of the calendar', () => {
    expect(daysFrom('2024-02-28', 3)).to.deep.equal(['2024-02-28', '2024-02-29', '2024-03-01'])
    expect(daysFrom('9999-12-30', 5)).to.deep.equal(['9999-12-30', '9999-12-31'])
    expect(daysFrom('2026-11-21', 0)).to.deep.equal([])
  })

  it('adds and subtracts days', () => {
    expect(addDays('2026-12-31', 1)).to.equal('2027-01-01')
    expect(addDays('2024-03-01', -1)).to.equal('2024-02-29')
    expect(addDays('2026-11-21', 30)).to.equal('2026-12-21')
    expect(addDays('2026-11-21', 0)).to.equal('2026-11-21')
    expect(addDays('9999-12-20', 30)).to.equal('9999-12-31')
    expect(addDays('1900-01-01', -1)).to.equal('1900-01-01')
    fc.assert(
      fc.property(
        fc.integer({ min: Date.UTC(1910, 0, 1), max: Date.UTC(9990, 0, 1) }),
        fc.integer({ min: -3000, max: 3000 }),
        (ms, n) => {
          const date = iso(ms).slice(0, 10)
          expect(addDays(addDays(date, n), -n)).to.equal(date)
        },
      ),
    )
  })
})

describe('working days of acquirers', () => {
  const EASTER = [
    '1961-04-02',
    '2000-04-23',
    '2024-03-31',
    '2025-04-20',
    '2026-04-05',
    '2027-03-28',
    '2038-04-25',
    '2285-03-22',
  ]
  for (const easter of EASTER)
    it(`know Easter of ${easter.slice(0, 4)} [TYPE-781]`, () => {
      expect(easterSunday(Number(easter.slice(0, 4)))).to.equal(easter)
    })

  const HOLIDAYS = {
    '2026-02-16': 'Carnaval',
    '2026-02-17': 'Carnaval',
    '2026-02-18': null,
    '2026-04-03': 'Sexta-feira Santa',
    '2026-06-04': 'Corpus Christi',
    '2026-09-07': 'Independência',
    '2026-11-20': 'Consciência Negra',
    '2023-11-20': null,
    '2026-12-24': null,
    '2026-12-25': 'Natal',
  }
  for (const [day, name] of Object.entries(HOLIDAYS))
    it(`${name === null ? 'do not include' : 'exclude'} ${day} [TYPE-781]`, () => {
      expect(holidayOn(day)).to.equal(name)
    })

  it('move to the next one after weekends and holidays, Carnival as a whole [TYPE-781]', () => {
    expect(workingDayFrom('2026-11-27')).to.equal('2026-11-27')
    expect(workingDayFrom('2026-11-28'), 'a Saturday').to.equal('2026-11-30')
    expect(workingDayFrom('2026-02-14'), 'before Carnival').to.equal('2026-02-18')
    expect(workingDayFrom('2026-12-25'), 'a Friday').to.equal('2026-12-28')
  })

  const TERMS = { acquirer_rate: '2.00', acquirer_rate_2_6: '3.00', acquirer_rate_7_12: '4.00', settles_in_days: 30 }
  const settled = (instalments: number, terms: object = {}, cents = 100_000) =>
    toAcquiredPayment({ ...TERMS, ...terms }, { cents, instalments, daySold: () => '2026-11-20' })

  for (const [instalments, fee] of [
    [1, '20.00'],
    [2, '30.00'],
    [6, '30.00'],
    [7, '40.00'],
    [12, '40.00'],
    [13, '40.00'],
    [99, '40.00'],
  ] as const)
    it(`keep the rate of ${instalments} instalments [TYPE-780]`, () => {
      const { acquirer_fee, settlements = [] } = settled(instalments) ?? {}
      expect([acquirer_fee, settlements.length]).to.deep.equal([fee, instalments])
      expect(settlements.reduce((sum, { net }) => sum + toCents(net), toCents(fee))).to.equal(100_000)
    })

  it('pay one instalment after the other, the cents that are left with the first [TYPE-780]', () => {
    const { settles_on, settlements } = settled(3) ?? {}
    expect(settles_on).to.equal('2026-12-21')
    expect(settlements).to.deep.equal([
      { due_on: '2026-12-21', net: '323.34' },
      { due_on: '2027-01-19', net: '323.33' },
      { due_on: '2027-02-18', net: '323.33' },
    ])
  })

  it('keep the only rate where instalments have none, and nothing without terms [TYPE-780]', () => {
    const none = { acquirer_rate_2_6: null, acquirer_rate_7_12: null }
    expect(settled(12, none)?.acquirer_fee).to.equal('20.00')
    expect(settled(3, { ...none, settles_in_days: null })).to.deep.equal({ acquirer_fee: '20.00' })
    expect(settled(3, { ...none, acquirer_rate: null, settles_in_days: null })).to.equal(null)
  })
})
