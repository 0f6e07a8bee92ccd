import { expect } from 'chai'
import { easterOf, holidayOn, workingDayFrom } from '#domain/instant.ts'
import { toCents } from '#domain/money.ts'
import { acquiredOf } from '#domain/payment-rules.ts'

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
      expect(easterOf(Number(easter.slice(0, 4)))).to.equal(easter)
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
    acquiredOf({ ...TERMS, ...terms }, { cents, instalments, daySold: () => '2026-11-20' })

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
