import { expect } from 'chai'
import { cancelSale } from '#commands/cancel-sale.ts'
import {
  FiscalDocumentBody,
  FiscalDocumentFields,
  type FiscalDocumentInput,
  recordFiscalDocument,
} from '#commands/fiscal-document-commands.ts'
import { describeIssues } from '#domain/refusals.ts'
import { event } from '#events/catalogue.ts'
import type { SaleObject } from '#projections/sales.ts'
import { accessKeyOf } from '../support/access-key.ts'
import { companyRegistered, fiscalDocument, saleCompleted } from '../support/facts.ts'
import { given, minute } from '../support/given.ts'

const input = (fields: Partial<FiscalDocumentInput> = {}): FiscalDocumentInput => ({
  id: 8,
  ...fiscalDocument,
  ...fields,
})
const recorded = (fields: Partial<FiscalDocumentInput> = {}) =>
  event('FiscalDocumentRecorded', { ...input(fields) } as Parameters<typeof event<'FiscalDocumentRecorded'>>[1])

const shop = [companyRegistered(), saleCompleted({ id: 8 })]
const contingency = { status: 'contingency', protocol: null, authorized_at: null } as const
const other = { model: '55', access_key: accessKeyOf({ model: '55' }) }
const wrong = (field: string, message: string) => ({ fields: { [field]: [message] }, unknown_fields: [] })

describe('record fiscal document', () => {
  it('records the document of a sale, and nothing when repeated [REC-3]', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(recordFiscalDocument, input())
    decided.accepts('updated', recorded())
    const { fiscal_document } = (await scenario.show('sale/8')) as SaleObject
    const authorized_at = '2026-03-10T11:00:01.000-03:00'
    expect(fiscal_document).to.deep.equal({ ...fiscalDocument, authorized_at, issued_at: authorized_at })
    const again = await scenario.when(recordFiscalDocument, input())
    again.accepts('unchanged')
  })

  it('follows a document from contingency to authorization and cancellation, and never back [FISCAL-3]', async () => {
    const scenario = await given(...shop)
    const first = await scenario.when(recordFiscalDocument, input(contingency))
    first.accepts('updated', recorded(contingency))
    const authorized = await scenario.when(recordFiscalDocument, input())
    authorized.accepts('updated', recorded())
    const back = await scenario.when(recordFiscalDocument, input(contingency))
    back.refuses('validation_failed', wrong('status', 'um documento autorizado não volta à contingência'))
    const cancelled = await scenario.when(recordFiscalDocument, input({ status: 'cancelled' }))
    cancelled.accepts('updated', recorded({ status: 'cancelled' }))
    for (const status of ['authorized', 'contingency'] as const) {
      const revived = await scenario.when(recordFiscalDocument, input({ status }))
      revived.refuses('validation_failed', wrong('status', 'um documento cancelado não volta a valer'))
    }
  })

  it('refuses to replace an authorized document [FISCAL-3]', async () => {
    const scenario = await given(...shop, recorded())
    for (const fields of [
      other,
      { number: '9', access_key: accessKeyOf({ number: '9' }) },
      { series: '2', access_key: accessKeyOf({ series: '2' }) },
    ]) {
      const decided = await scenario.when(recordFiscalDocument, input(fields))
      decided.refuses('fiscal_document_issued')
    }
    for (const before of [recorded({ status: 'cancelled' }), recorded(contingency)]) {
      const replaced = await (await given(...shop, before)).when(recordFiscalDocument, input(other))
      replaced.accepts('updated', recorded(other))
    }
  })

  it('refuses a key of a month that has not begun on the company’s day [FISCAL-2]', async () => {
    const scenario = await given(...shop)
    const ofMonth = (year: string, month: string) => input({ access_key: accessKeyOf({ year, month }) })
    for (const [year, month] of [
      ['26', '04'],
      ['27', '01'],
    ] as const) {
      const decided = await scenario.when(recordFiscalDocument, ofMonth(year, month))
      decided.refuses('validation_failed', wrong('access_key', 'é de um mês que ainda não começou'))
    }
    const decided = await scenario.when(recordFiscalDocument, ofMonth('26', '03'))
    decided.accepts('updated', recorded({ access_key: accessKeyOf({ month: '03' }) }))
  })

  it('keeps known fields when only the number is sent again [FISCAL-4]', async () => {
    const scenario = await given(...shop, recorded())
    const same = await scenario.when(recordFiscalDocument, {
      id: 8,
      number: fiscalDocument.number,
      status: 'authorized',
    })
    same.accepts('unchanged')
    const xml_url = 'https://xml.example/1'
    const more = await scenario.when(recordFiscalDocument, {
      id: 8,
      number: fiscalDocument.number,
      status: 'authorized',
      protocol: null,
      xml_url,
    })
    more.accepts('updated', recorded({ protocol: null, xml_url }))
  })

  it('accepts a number alone, as authorized now; the whole document may follow [FISCAL-4]', async () => {
    const scenario = await given(...shop)
    const nothing = { model: null, series: null, access_key: null, protocol: null, xml_sha256: null, xml_url: null }
    const noted = { id: 8, number: 'NFC-e 1', status: 'authorized' } as const
    const decided = await scenario.when(recordFiscalDocument, noted)
    decided.accepts('updated', recorded({ ...nothing, ...noted, authorized_at: minute(2) }))
    const again = await scenario.when(recordFiscalDocument, { ...noted, authorized_at: null })
    again.accepts('unchanged')
    const another = await scenario.when(recordFiscalDocument, { ...noted, number: 'NFC-e 2' })
    another.refuses('fiscal_document_issued')
    const whole = await scenario.when(recordFiscalDocument, input())
    whole.accepts('updated', recorded())
    const gone = recorded({ ...nothing, ...noted, status: 'cancelled' })
    const next = await (await given(...shop, gone)).when(recordFiscalDocument, input())
    next.accepts('updated', recorded())
  })

  it('accepts only a cancelled document for a cancelled sale, and does not find missing sales [SALE-20]', async () => {
    const cancelled = event('SaleCancelled', { id: 8, reason: null, restock: [] })
    const scenario = await given(...shop, cancelled)
    for (const fields of [{}, contingency]) {
      const decided = await scenario.when(recordFiscalDocument, input(fields))
      decided.refuses('validation_failed', wrong('sale', 'a venda está cancelada'))
    }
    const late = await scenario.when(recordFiscalDocument, input({ status: 'cancelled' }))
    late.accepts('updated', recorded({ status: 'cancelled' }))
    const missing = await scenario.when(recordFiscalDocument, input({ id: 9 }))
    missing.refuses('not_found')
  })

  it('refuses the key of another CNPJ, but accepts that of a branch [FISCAL-2]', async () => {
    const scenario = await given(...shop)
    const foreign = await scenario.when(
      recordFiscalDocument,
      input({ access_key: accessKeyOf({ cnpj: '99222333000181' }) }),
    )
    foreign.refuses('validation_failed', wrong('access_key', 'é de um documento de outro CNPJ'))
    const branch = input({ access_key: accessKeyOf({ cnpj: '11222333000262' }) })
    ;(await scenario.when(recordFiscalDocument, branch)).accepts('updated', recorded(branch))
  })

  describe('that another sale has', () => {
    const shops = [...shop, saleCompleted({ id: 9 })]
    const ofNine = (fields: Partial<FiscalDocumentInput> = {}) => input({ id: 9, ...fields })
    const taken = (field: string) => ['duplicate_resource', { field, conflicting_id: 8 }] as const
    const keyless = { access_key: null }

    it('is refused by its key, also once it is cancelled, or replaced after that [FISCAL-6]', async () => {
      const cancelled = recorded({ status: 'cancelled' })
      for (const before of [[recorded()], [cancelled], [cancelled, recorded({ ...other, number: '1234' })]]) {
        const scenario = await given(...shops, ...before)
        ;(await scenario.when(recordFiscalDocument, ofNine())).refuses(...taken('access_key'))
        ;(await scenario.when(recordFiscalDocument, ofNine(contingency))).refuses(...taken('access_key'))
      }
    })

    it('is refused by model, series and number, as numbers, if one of both has no key [FISCAL-6]', async () => {
      const spelled = { ...keyless, series: '001', number: '0001234' }
      for (const [before, then, field] of [
        [keyless, spelled, 'number'],
        [{}, keyless, 'number'],
        [keyless, {}, 'access_key'],
      ] as const) {
        const scenario = await given(...shops, recorded(before))
        ;(await scenario.when(recordFiscalDocument, ofNine(then))).refuses(...taken(field))
      }
    })

    it('is refused under another key of the same number and CNPJ, not of a branch [FISCAL-6]', async () => {
      const scenario = await given(...shops, recorded())
      const again = ofNine({ access_key: accessKeyOf({ month: '02' }) })
      ;(await scenario.when(recordFiscalDocument, again)).refuses(...taken('access_key'))
      const branch = ofNine({ access_key: accessKeyOf({ cnpj: '11222333000262' }) })
      ;(await scenario.when(recordFiscalDocument, branch)).accepts('updated', recorded(branch))
    })

    it('is free once its sale has replaced it in contingency, and numbers alone may repeat [FISCAL-6]', async () => {
      const scenario = await given(...shops, recorded(contingency), recorded(other))
      ;(await scenario.when(recordFiscalDocument, ofNine())).accepts('updated', recorded({ id: 9 }))
      ;(await scenario.when(recordFiscalDocument, input(other))).accepts('unchanged')
      const noted = await given(...shops)
      for (const id of [8, 9]) {
        const { decision } = await noted.when(recordFiscalDocument, { id, number: '7', status: 'authorized' })
        expect(decision).to.include({ outcome: 'updated' })
      }
    })
  })

  it('refuses an authorization that is more than a day in the future [VAL-9]', async () => {
    const scenario = await given(...shop)
    const decided = await scenario.when(recordFiscalDocument, input({ authorized_at: '2026-03-12T15:00:00.000Z' }))
    decided.refuses(
      'validation_failed',
      wrong('authorized_at', 'não pode ser antes de 1990 nem estar mais de um dia no futuro'),
    )
  })

  it('blocks the cancellation of the sale while it is valid, in contingency too [SALE-19]', async () => {
    for (const fields of [{}, contingency]) {
      const scenario = await given(...shop, recorded(fields))
      const refused = await scenario.when(cancelSale, { id: 8 })
      refused.refuses('fiscal_document_issued')
      if (fields === contingency) await scenario.when(recordFiscalDocument, input())
      await scenario.when(recordFiscalDocument, input({ status: 'cancelled' }))
      const cancelled = await scenario.when(cancelSale, { id: 8 })
      cancelled.accepts('updated', event('SaleCancelled', { id: 8, reason: null, restock: [] }))
    }
  })
})

describe('fiscal document input', () => {
  const problems = (schema: typeof FiscalDocumentBody | typeof FiscalDocumentFields, body: object) => {
    const { error } = schema.safeParse(body)
    return error ? describeIssues(error).fields : {}
  }

  it('requires the whole document; the authorization may be absent only in contingency [REC-3]', () => {
    expect(problems(FiscalDocumentBody, fiscalDocument)).to.deep.equal({})
    const { protocol: _, authorized_at: __, xml_sha256: ___, xml_url: ____, ...required } = fiscalDocument
    expect(problems(FiscalDocumentBody, { ...required, status: 'contingency' })).to.deep.equal({})
    const missing = 'preencha este campo'
    for (const status of ['authorized', 'cancelled'])
      expect(problems(FiscalDocumentBody, { ...required, status })).to.deep.equal({
        protocol: [missing],
        authorized_at: [missing],
      })
    for (const field of Object.keys(required))
      expect(problems(FiscalDocumentBody, { ...fiscalDocument, [field]: undefined })).to.have.all.keys(field)
  })

  it('refuses invalid values, and an access key of another model [FISCAL-2]', () => {
    for (const [field, value] of [
      ['model', '655'],
      ['model', 65],
      ['number', ''],
      ['access_key', fiscalDocument.access_key.replace(/.$/, '0')],
      ['authorized_at', '2026-03-10'],
      ['status', 'denied'],
      ['xml_sha256', 'abc'],
      ['xml_url', 'http://xml.example/1'],
      ['xml_url', 'nota.xml'],
    ])
      expect(
        problems(FiscalDocumentBody, { ...fiscalDocument, [field as string]: value }),
        field as string,
      ).to.have.all.keys(field as string)
    for (const schema of [FiscalDocumentBody, FiscalDocumentFields])
      expect(problems(schema, { ...fiscalDocument, model: '55' })).to.deep.equal({
        access_key: ['é de um documento de modelo 65'],
      })
    expect(problems(FiscalDocumentBody, { ...fiscalDocument, series: '001', number: '0001234' })).to.deep.equal({})
    for (const [field, value, message] of [
      ['number', '999', 'é de um documento de número 1234'],
      ['number', 'NFC-e 1234', 'é de um documento de número 1234'],
      ['series', '2', 'é de um documento de série 1'],
    ] as const)
      expect(problems(FiscalDocumentBody, { ...fiscalDocument, [field]: value })).to.deep.equal({
        access_key: [message],
      })
  })

  it('from people requires only a number, and defaults to authorized [FISCAL-4]', () => {
    expect(FiscalDocumentFields.parse({ number: '1' })).to.deep.equal({ number: '1', status: 'authorized' })
    expect(FiscalDocumentFields.parse({ number: '1', status: null }).status).to.equal('authorized')
    expect(problems(FiscalDocumentFields, {})).to.have.all.keys('number')
  })
})
