import { EventEmitter, once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import type { Request, Response } from 'express'
import { renderToString } from 'preact-render-to-string'
import type { AttestationStatus } from '#integrity/attestations.ts'
import { cellText, sendFile } from '#panel/csv-files.ts'
import { amountInput, choicesInput, lineInput, paragraphInput, yesOrNoInput } from '#panel/forms/input-kinds.ts'
import {
  BEFORE,
  type Fields,
  type FormBody,
  fillFromRecord,
  formatBefore,
  pickChangedFields,
  readFormInput,
} from '#panel/forms/panel-form.ts'
import { Attestors } from '#panel/pages/audit-pages.tsx'
import { parsePeriod, type StartPeriod } from '#panel/pages/start-period.ts'
import type { PageContext, TableRoute } from '#panel/panel-route.ts'
import { niceTop } from '#panel/ui/chart.tsx'

const FIELDS: Fields = {
  name: { label: 'Nome', kind: lineInput },
  notes: { label: 'Observações', kind: paragraphInput },
  price: { label: 'Preço', kind: amountInput },
  is_active: { label: 'Ativo', kind: yesOrNoInput },
  scopes: { label: 'Pode', kind: choicesInput([{ value: 'a', label: 'A' }]) },
}

const RECORD = { name: 'Café', notes: 'uma linha\noutra linha', price: '1234.50', is_active: true, scopes: ['a'] }

/** Form fields that a browser sends for a record after these edits. */
const sent = (typed: FormBody = {}, record: object = RECORD): FormBody => ({
  [BEFORE]: formatBefore(fillFromRecord(FIELDS, record, 'America/Sao_Paulo')),
  name: 'Café',
  notes: 'uma linha\r\noutra linha',
  price: '1.234,50',
  is_active: 'on',
  scopes: 'a',
  ...typed,
})

describe('panel: detection of edited form fields', () => {
  const changed = (body: FormBody) => Object.keys(pickChangedFields(FIELDS, body))

  it('finds none if a browser sends unchanged values with other line ends [PANEL-11]', () => {
    expect(changed(sent())).to.deep.equal([])
    for (const notes of ['a\r\nb', 'a\rb', 'a\nb'])
      expect(changed(sent({ notes: 'a\r\nb' }, { ...RECORD, notes })), JSON.stringify(notes)).to.deep.equal([])
  })

  it('finds edited, emptied and unticked fields only [PANEL-11]', () => {
    expect(changed(sent({ name: 'Chá' }))).to.deep.equal(['name'])
    expect(changed(sent({ notes: '' }))).to.deep.equal(['notes'])
    const { is_active: _, scopes: __, ...unticked } = sent()
    expect(changed(unticked)).to.deep.equal(['is_active', 'scopes'])
    expect(changed(sent({ notes: 'uma linha\r\n\r\noutra linha' }))).to.deep.equal(['notes'])
  })

  it('distinguishes a line end from the characters \\n and \\r', () => {
    const record = { ...RECORD, notes: 'pasta\nova' }
    expect(changed(sent({ notes: 'pasta\\nova' }, record))).to.deep.equal(['notes'])
    expect(changed(sent({ notes: 'pasta\\rnova' }, record))).to.deep.equal(['notes'])
    expect(changed(sent({ notes: 'rede' }, { ...RECORD, notes: '\\rede' }))).to.deep.equal(['notes'])
  })

  it('finds all fields if the form lacks its original values', () => {
    for (const before of ['', 'nada', '{"name":3}'])
      expect(changed(sent({ [BEFORE]: before })), before).to.deep.equal(Object.keys(FIELDS))
  })

  it('passes line ends to commands as \\n', () => {
    expect(readFormInput(FIELDS, sent({ notes: 'a\r\nb\rc' }), 'America/Sao_Paulo')).to.deep.include({
      notes: 'a\nb\nc',
    })
  })
})

const NEVER = new AbortController().signal

/** The part of a response that `sendFile` uses. */
const answering = () => Object.assign(new PassThrough(), { setHeader: () => undefined, locals: {} })

describe('panel: CSV file of a list', () => {
  it('prevents formulas in texts, and keeps amounts numeric [PANEL-144]', () => {
    for (const text of ['=1+1', '+55', '-1', '@SUM(A1)', '\tx', '\rx', '＝1', '－1', '＋1', '＠A1'])
      expect(cellText(text)).to.equal(`'${text}`)
    for (const text of ['Café', '1-1', ' =1', '', "d'água", 'a, b', 'x\r\ny']) expect(cellText(text)).to.equal(text)
    expect(cellText({ decimal: '-1234.50' })).to.equal('-1234,50')
    expect([cellText(-7), cellText(null), cellText(undefined)]).to.deep.equal(['-7', '', ''])
  })

  for (const delimiter of [',', ';', '\t', '\n', '\r'])
    it(`prevents a formula after ${JSON.stringify(delimiter)}, which some programs treat as a delimiter [PANEL-144]`, () => {
      for (const formula of ['=1+1', '+55', '-1', '@SUM(A1)', '＝1']) {
        expect(cellText(`a${delimiter}${formula}`)).to.equal(`a${delimiter}'${formula}`)
        expect(cellText(`a${delimiter}""${formula}`)).to.equal(`a${delimiter}""'${formula}`)
      }
    })

  it('quotes texts with any delimiter, but not amounts [PANEL-144]', async () => {
    async function* rows() {
      yield ['a,b', 'a;b', 'a\tb', 'a\nb', 'a\rb', 'a"b', 'plain', { decimal: '1234.50' }, 7] as const
    }
    const route: TableRoute = { path: '/x.csv', section: 'sales', table: async () => ({ heads: ['=H'], rows: rows() }) }
    const response = answering()
    const visit = { readModel: { moment: null }, context: {} } as unknown as PageContext
    await sendFile(route, visit, { method: 'GET' } as Request, response as unknown as Response, NEVER)
    expect(String(response.read())).to.equal(`\uFEFF'=H\r\n"a,b";"a;b";"a\tb";"a\nb";"a\rb";"a""b";plain;1234,50;7\r\n`)
  })

  it('reads rows at the speed of the client, and stops when it disconnects [PANEL-143]', async () => {
    const ended = new EventEmitter()
    let read = 0
    async function* rows() {
      try {
        for (;;) yield [`linha ${read++}`]
      } finally {
        ended.emit('ended')
      }
    }
    const route: TableRoute = {
      path: '/linhas.csv',
      section: 'sales',
      table: async () => ({ heads: ['Linha'], rows: rows() }),
    }
    const response = answering()
    const visit = { readModel: { moment: null }, context: { log: () => expect.fail('nothing failed') } }
    const over = once(ended, 'ended')
    const sent = sendFile(
      route,
      visit as unknown as PageContext,
      { method: 'GET' } as Request,
      response as unknown as Response,
      NEVER,
    )
    const [first] = await once(response, 'readable').then(() => [String(response.read())])
    expect(first).to.match(/^\uFEFFLinha\r\nlinha 0\r\n/)
    response.destroy()
    await Promise.all([over, sent])
    expect(read).to.be.below(10_000)
  })
})

const confirmed: AttestationStatus = {
  source: 'witness.example/w1',
  kind: 'cosignature',
  host: 'witness.example',
  size: 7,
  obtained_at: '2026-11-22T20:00:00.000Z',
  age: 60,
  waiting: 0,
  waiting_seconds: 0,
  tried_at: '2026-11-22T20:00:00.000Z',
  failures: 0,
  failing_since: null,
  problem: null,
  detail: null,
}

/** Visible text of the section, in one line. */
const shown = (states: readonly AttestationStatus[]) => {
  const page = Attestors({ states, timezone: 'America/Sao_Paulo' })
  return page === null
    ? ''
    : renderToString(page)
        .replace(/<[^>]+>/g, ' ')
        .replace(/\s+/g, ' ')
}

describe('panel: attestors', () => {
  it('show the last confirmation, pending requests and problems', () => {
    const none = { size: null, obtained_at: null, age: null, waiting: 3, waiting_seconds: 60 }
    const text = shown([
      confirmed,
      { ...confirmed, ...none, source: 'https://tsa.example/tsr', kind: 'time_stamp', host: 'tsa.example' },
      {
        ...confirmed,
        source: '/mnt/secret',
        kind: 'copy',
        host: null,
        failing_since: '2026-11-22T21:00:00.000Z',
        waiting: 1,
        problem: 'unreachable',
        detail: 'EACCES /mnt/secret',
      },
      { ...confirmed, source: 'other.example', waiting: 1, problem: 'inconsistent' },
    ])
    expect(text).to.match(/Testemunha witness\.example\/w1 confirmou em 22\/11\/2026,? 17:00/)
    expect(text).to.match(/Carimbo do tempo de tsa\.example ainda não confirmou aguardando/)
    expect(text).to.match(/Cópia fora do serviço confirmou em .* sem resposta desde 22\/11\/2026,? 18:00 /)
    expect(text).to.match(/other\.example confirmou em .* viu outro registro: avise o suporte \(witness\.example\)/)
    expect(text).not.to.include('secret')
  })

  it('show nothing if none are configured', () => {
    expect(shown([])).to.equal('')
  })
})

const calendar = { timezone: 'America/Sao_Paulo', today: '2026-03-11' }
const NOW = '2026-03-11T17:30:00.000Z'

describe('panel: periods of the start page', () => {
  const of = (asked: Record<string, string>) => parsePeriod(asked, calendar, NOW) as StartPeriod

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
    const march = parsePeriod(
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
        const period = parsePeriod(
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
