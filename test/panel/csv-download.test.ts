import { EventEmitter, once } from 'node:events'
import { PassThrough } from 'node:stream'
import { expect } from 'chai'
import type { Request, Response } from 'express'
import { cellText, sendFile } from '#panel/csv-files.ts'
import type { PageContext, TableRoute } from '#panel/panel-route.ts'

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
