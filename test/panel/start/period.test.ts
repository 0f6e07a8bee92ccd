import { expect } from 'chai'
import { periodOf, type StartPeriod } from '#panel/pages/start-period.ts'
import { niceTop } from '#panel/ui/chart.tsx'

const calendar = { timezone: 'America/Sao_Paulo', today: '2026-03-11' }
const NOW = '2026-03-11T17:30:00.000Z'

describe('panel: periods of the start page', () => {
  const of = (asked: Record<string, string>) => periodOf(asked, calendar, NOW) as StartPeriod

  it('compares today with the same hours a week before [PANEL-120]', () => {
    const today = of({})
    expect(today.before).to.deep.include({ from: '2026-03-04T03:00:00.000Z', to: '2026-03-04T17:30:00.000Z' })
    expect(today.bars).to.have.length(24)
    expect(today.before.bounds.slice(0, 2)).to.deep.equal(['2026-03-04T03:00:00.000Z', '2026-03-04T04:00:00.000Z'])
    expect(today.before.bounds).to.have.length(25)
    expect(today.than).to.equal('na quarta passada (04/03), até a mesma hora')
    expect(today.bars[14]).to.deep.equal({ label: '14h', from: '2026-03-11', to: '2026-03-11' })
    expect([today.bounds[0], today.bounds.at(-1)]).to.deep.equal([
      '2026-03-11T03:00:00.000Z',
      '2026-03-12T03:00:00.000Z',
    ])
    const yesterday = of({ periodo: 'ontem' })
    expect(yesterday.before).to.deep.include({ from: '2026-03-03T03:00:00.000Z', to: '2026-03-04T03:00:00.000Z' })
  })

  it('of several days are compared with as many days before, up to the same hour if unfinished [PANEL-120]', () => {
    const week = of({ periodo: '7' })
    expect([week.from, week.to, week.bar, week.bars.length]).to.deep.equal(['2026-03-05', '2026-03-11', 'dia', 7])
    expect(week.before).to.deep.include({ from: '2026-02-26T03:00:00.000Z', to: '2026-03-04T17:30:00.000Z' })
    expect(of({ periodo: 'mes' }).before).to.deep.include({
      from: '2026-02-01T03:00:00.000Z',
      to: '2026-02-11T17:30:00.000Z',
    })
    const range = of({ periodo: 'intervalo', de: '2026-01-10', ate: '2026-01-12' })
    expect(range.before).to.deep.include({ from: '2026-01-07T03:00:00.000Z', to: '2026-01-10T03:00:00.000Z' })
    const year = of({ periodo: 'intervalo', de: '2025-04-20', ate: '2026-03-11' })
    expect(year.bars.map(({ label }) => label).slice(0, 2)).to.deep.equal(['04/25', '05/25'])
    expect([range.than, year.than]).to.deep.equal([
      'nos 3 dias anteriores',
      'nos 326 dias anteriores, até a mesma hora',
    ])
    expect(year.bars.at(-1)).to.deep.equal({ label: '03/26', from: '2026-03-01', to: '2026-03-11' })
  })

  it('of a month are compared with all of a shorter month before [PANEL-120]', () => {
    const march = periodOf(
      { periodo: 'mes' },
      { ...calendar, today: '2026-03-31' },
      '2026-03-31T17:30:00.000Z',
    ) as StartPeriod
    expect(march.than).to.equal('nos mesmos dias do mês passado')
    expect(march.before).to.deep.include({ from: '2026-02-01T03:00:00.000Z', to: '2026-03-01T03:00:00.000Z' })
  })

  it('are refused for an invalid or too long range, with the field in error [PANEL-120]', () => {
    const field = (de: string, ate: string) => (of({ periodo: 'intervalo', de, ate }) as { field?: string }).field
    expect(field('', '2026-01-01')).to.equal('de')
    expect(field('2026-02-30', '2026-03-01')).to.equal('de')
    expect(field('2026-01-01', 'x')).to.equal('ate')
    expect(field('2026-01-02', '2026-01-01')).to.equal('ate')
    expect(field('2024-01-01', '2026-01-01')).to.equal('ate')
    expect(field('2025-03-12', '2026-03-11')).to.equal(undefined)
  })

  for (const [de, ate, field] of [
    ['9999-12-01', '9999-12-31', 'de'],
    ['9999-12-31', '9999-12-31', 'de'],
    ['9998-12-01', '9999-12-31', 'ate'],
    ['9999-01-01', '9999-06-30', 'de'],
    ['1900-01-01', '1900-12-31', 'de'],
    ['1900-01-01', '9999-12-31', 'de'],
    ['0001-01-01', '9999-12-31', 'de'],
  ] as const)
    it(`are refused at the ends of the calendar: ${de} to ${ate} [PANEL-301]`, () => {
      expect(of({ periodo: 'intervalo', de, ate })).to.include({ field })
    })

  for (const [de, ate, bars] of [
    ['9998-01-01', '9998-12-31', 12],
    ['9998-12-01', '9998-12-31', 31],
    ['1902-01-01', '1902-12-31', 12],
    ['1902-01-01', '1902-01-01', 24],
  ] as const)
    it(`are charted up to the accepted limits: ${de} to ${ate} [PANEL-301]`, () => {
      const period = of({ periodo: 'intervalo', de, ate })
      expect([period.bars.length, period.bars[0]?.from, period.bars.at(-1)?.to]).to.deep.equal([bars, de, ate])
      expect(period.bounds).to.deep.equal([...new Set(period.bounds)].sort())
      expect(period.bounds).to.have.length(bars + 1)
    })

  for (const today of ['9999-12-31', '1900-01-01'])
    for (const periodo of ['hoje', 'ontem', '7', '30', 'mes'])
      it(`are valid on every day of the calendar: ${periodo} on ${today} [PANEL-301]`, () => {
        const period = periodOf(
          { periodo },
          { timezone: 'America/Sao_Paulo', today },
          `${today}T17:30:00.000Z`,
        ) as StartPeriod
        expect(period.bars.length).to.be.within(0, 31)
      })

  it('have an axis that ends at a round number with a round half', () => {
    expect([0, 1, 3, 41, 1000, 1001, 95000].map(niceTop)).to.deep.equal([2, 2, 4, 60, 1000, 2000, 100000])
  })
})
