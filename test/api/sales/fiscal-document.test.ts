import { expect } from 'chai'
import { accessKeyOf } from '../../support/access-key.ts'
import { expectInvalid, expectProblem, idsIn } from '../../support/answers.ts'
import { fiscalDocument } from '../../support/facts.ts'
import { useSeller } from './seller.ts'

const documentOf = (number: string) => ({ ...fiscalDocument, number, access_key: accessKeyOf({ number }) })

describe('fiscal document of a sale', () => {
  const { company, adHoc, pay, sold } = useSeller()
  const put = (id: number, body: object = fiscalDocument) => company.call('PUT', `/sales/${id}/fiscal-document`, body)
  const sale = async () => (await sold({ items: [adHoc('1.00')], payments: [pay('1.00')] })).id

  it('is replaced as a whole, shown with the sale, and records nothing when repeated [FISCAL-1]', async () => {
    const id = await sale()
    const first = await put(id, { ...fiscalDocument, xml_sha256: 'A'.repeat(64), xml_url: 'https://xml.example/1' })
    expect(first.status, first.text).to.equal(200)
    expect(first.body.data.fiscal_document).to.deep.equal({
      ...fiscalDocument,
      authorized_at: '2026-03-10T11:00:01.000-03:00',
      xml_sha256: 'a'.repeat(64),
      xml_url: 'https://xml.example/1',
      issued_at: '2026-03-10T11:00:01.000-03:00',
    })
    expect((await company.get(`/sales/${id}`)).text).to.equal(first.text)
    const cleared = await put(id)
    expect(cleared.body.data.fiscal_document).to.include({ xml_sha256: null, xml_url: null })
    const again = await put(id)
    expect(again.text).to.equal(cleared.text)
    expect(again.headers.get('x-ledger-revision')).to.equal(cleared.headers.get('x-ledger-revision'))
  })

  it('a document belongs to one sale: 409 with the other, also concurrently [FISCAL-6]', async () => {
    const ids = [await sale(), await sale(), await sale()]
    const replies = await Promise.all(ids.map((id) => put(id)))
    expect(replies.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409])
    const holder = ids[replies.findIndex(({ status }) => status === 200)] as number
    const [other] = ids.filter((id) => id !== holder) as [number]
    await put(holder, { ...fiscalDocument, status: 'cancelled' })
    const details = { field: 'access_key', conflicting_id: holder }
    expect(expectProblem(await put(other), 409, 'duplicate_resource')).to.deep.equal(details)
    expect((await put(other, documentOf('9'))).status).to.equal(200)
    expectInvalid(await put(other, { ...documentOf('9'), access_key: accessKeyOf({ number: '7' }) }), ['access_key'])
  })

  it('blocks the cancellation of the sale until it is cancelled [SALE-19]', async () => {
    const id = await sale()
    await put(id)
    expectProblem(await company.post(`/sales/${id}/cancel`, {}), 409, 'fiscal_document_issued')
    expectProblem(await put(id, documentOf('9')), 409, 'fiscal_document_issued')
    await put(id, { ...fiscalDocument, status: 'cancelled' })
    const cancelled = await company.post(`/sales/${id}/cancel`, {})
    expect(cancelled.body.data).to.include({ status: 'cancelled' })
    expectInvalid(await put(id), ['sale'])
  })

  it('a document with a wrong check digit or another model is refused; of a missing sale 404 [FISCAL-2]', async () => {
    const id = await sale()
    const { access_key } = fiscalDocument
    for (const wrong of [access_key.slice(1), access_key.replace(/5$/, '7'), `${access_key}0`, '', null])
      expectInvalid(await put(id, { ...fiscalDocument, access_key: wrong }), ['access_key'])
    expectInvalid(await put(id, { ...fiscalDocument, model: '55' }), ['access_key'])
    expectInvalid(await put(id, { ...fiscalDocument, issued_at: fiscalDocument.authorized_at }), [], ['issued_at'])
    expectProblem(await put(999_999), 404, 'not_found')
    expect((await company.get(`/sales/${id}`)).body.data.fiscal_document).to.equal(null)
  })

  it('filters sales as missing or present', async () => {
    const [missing, authorized, contingency, freed, cancelled] = [
      await sale(),
      await sale(),
      await sale(),
      await sale(),
      await sale(),
    ]
    await put(authorized)
    await put(contingency, { ...documentOf('2'), status: 'contingency', protocol: null, authorized_at: null })
    await put(freed, { ...documentOf('3'), status: 'cancelled' })
    await company.post(`/sales/${cancelled}/cancel`, {})
    const found = async (query: string) => idsIn(await company.get(`/sales?${query}`))
    expect(await found('fiscal=missing')).to.deep.equal([missing, freed])
    expect(await found('fiscal=present')).to.deep.equal([authorized, contingency])
    expect(await found('fiscal=missing&status=cancelled')).to.deep.equal([])
    expect(await found('fiscal=missing&limit=1&updated_since=2020-01-01T00:00:00Z')).to.deep.equal([missing])
    expectInvalid(await company.get('/sales?fiscal=none'), ['fiscal'])
  })
})
