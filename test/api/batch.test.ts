import { expect } from 'chai'
import { expectInvalid, idsIn } from '../support/answers.ts'
import type { Json, Reply, TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

describe('batches', () => {
  const api = useApi()
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  const customers = (items: unknown, headers?: Record<string, string>) =>
    company.post('/customers/batch', { items }, headers)
  const catalog = (items: unknown) => company.post('/catalog/items/batch', { items })
  const person = (n: number | string, extra: object = {}) => ({ external_id: `c${n}`, name: `Cliente ${n}`, ...extra })
  /** Errors without their messages. */
  const errorsOf = (reply: Reply) =>
    reply.body.meta.errors.map(({ message, details: _, ...rest }: Json) => {
      expect(message).to.be.a('string').that.is.not.empty
      return rest
    })
  const revision = async () => Number((await company.get('/me')).headers.get('x-ledger-revision'))

  it('respond 200 with all records in the order of the list if all succeed [BATCH-2]', async () => {
    const reply = await customers([person(3), person(1), person(2)])
    expect(reply.status).to.equal(200)
    expect(Object.keys(reply.body)).to.deep.equal(['data', 'meta'])
    expect(reply.body.meta).to.deep.equal({ succeeded: 3, failed: 0, errors: [] })
    expect(reply.body.data.map((record: Json) => record.external_id)).to.deep.equal(['c3', 'c1', 'c2'])
    for (const record of reply.body.data) {
      expect((await company.get(`/customers/${record.id}`)).body.data).to.deep.equal(record)
    }
  })

  it('show each record in the bytes of its GET [VAL-5]', async () => {
    const { data: category } = (await company.post('/catalog/categories', { name: 'A' })).body
    const reply = await catalog([
      { external_id: 'a', name: 'Café', price: '1.00', stock: '2', category_id: category.id },
      { external_id: 'b', name: 'Hora', price: '1.00', type: 'service' },
    ])
    const texts: string[] = []
    for (const { id } of reply.body.data) {
      texts.push((await company.get(`/catalog/items/${id}`)).text.slice('{"data":'.length, -1))
    }
    expect(reply.text.startsWith(`{"data":[${texts.join(',')}],"meta":`)).to.equal(true)
  })

  it('a batch that fails in part is 207 with position, code and details of each failure [BATCH-2]', async () => {
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    const reply = await customers([
      person(0),
      { external_id: 'dup', name: 'ANA' },
      person(2, { nada: 1, address: { rua: 'x' } }),
      { name: 'Sem external_id' },
      { external_id: 'x' },
      person(5, { document: '123', address: { zip: '1' } }),
      person(6),
    ])
    expect(reply.status).to.equal(207)
    expect(reply.body.data.map((record: Json) => record.external_id)).to.deep.equal(['c0', 'c6'])
    const { succeeded, failed, errors } = reply.body.meta
    expect({ succeeded, failed }).to.deep.equal({ succeeded: 2, failed: 5 })
    expect(errorsOf(reply)).to.deep.equal([
      { index: 1, external_id: 'dup', code: 'duplicate_resource' },
      { index: 2, external_id: 'c2', code: 'validation_failed' },
      { index: 3, external_id: null, code: 'validation_failed' },
      { index: 4, external_id: 'x', code: 'validation_failed' },
      { index: 5, external_id: 'c5', code: 'validation_failed' },
    ])
    expect(errors[0].details).to.include({ field: 'name', conflicting_id: id })
    expect(errors[1].details.fields).to.deep.equal({})
    expect(errors[1].details.unknown_fields).to.have.members(['nada', 'address.rua'])
    expect(Object.keys(errors[2].details.fields)).to.deep.equal(['external_id'])
    expect(Object.keys(errors[3].details.fields)).to.deep.equal(['name'])
    expect(Object.keys(errors[4].details.fields)).to.have.members(['document', 'address.zip'])
    expect(idsIn(await company.get('/customers'))).to.have.length(3)
  })

  it('report anything that is not an item as a failure of its position, also if all fail [BATCH-2]', async () => {
    const reply = await customers([
      null,
      1,
      'x',
      [],
      [person(1)],
      true,
      {},
      { external_id: null, name: 'x' },
      { external_id: 5, name: 'x' },
    ])
    expect(reply.status).to.equal(207)
    expect(reply.body.data).to.deep.equal([])
    expect(reply.body.meta).to.include({ succeeded: 0, failed: 9 })
    expect(errorsOf(reply).map((error: Json) => error.index)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8])
    for (const error of errorsOf(reply)) expect(error).to.include({ external_id: null, code: 'validation_failed' })
  })

  it('upsert by external_id: create, replace, revive or keep each item as PUT does [BATCH-2]', async () => {
    const put = (id: string, body: object) => company.call('PUT', `/customers/by-external/${id}`, body)
    const replaced = (await put('a', { name: 'A', notes: 'some' })).body.data
    const revived = (await put('b', { name: 'B' })).body.data
    const same = (await put('c', { name: 'C' })).body.data
    await company.call('DELETE', `/customers/${revived.id}`)
    const before = await revision()
    const reply = await customers([
      { external_id: 'a', name: 'A2' },
      { external_id: 'b', name: 'B' },
      { external_id: 'c', name: 'C' },
      { external_id: 'd', name: 'D' },
    ])
    expect(reply.status).to.equal(200)
    const [a, b, c, d] = reply.body.data
    expect(a).to.include({ id: replaced.id, name: 'A2', notes: null })
    expect(b).to.include({ id: revived.id, created_at: revived.created_at })
    expect(c).to.deep.equal(same)
    expect(d.id).to.be.above(same.id)
    expect(await revision()).to.equal(before + 3)
    expect(reply.headers.get('x-ledger-revision')).to.equal(String(before + 3))
  })

  it('see changes by earlier items of the same batch [BATCH-2]', async () => {
    const reply = await customers([
      { external_id: 'a', name: 'Primeiro' },
      { external_id: 'a', name: 'Segundo', notes: 'x' },
      { external_id: 'b', name: 'primeiro' },
      { external_id: 'c', name: 'SEGUNDO' },
      { external_id: 'a', name: 'Terceiro' },
      { external_id: 'c', name: 'Segundo' },
    ])
    expect(reply.status).to.equal(207)
    const [first, second, b, third, c] = reply.body.data
    expect([first.id, second.id, third.id]).to.deep.equal([first.id, first.id, first.id])
    expect([first.name, second.name, b.name, third.name, c.name]).to.deep.equal([
      'Primeiro',
      'Segundo',
      'primeiro',
      'Terceiro',
      'Segundo',
    ])
    expect(errorsOf(reply)).to.deep.equal([{ index: 3, external_id: 'c', code: 'duplicate_resource' }])
    expect(reply.body.meta.errors[0].details).to.include({ field: 'name', conflicting_id: first.id })
    expect((await company.get(`/customers/${first.id}`)).body.data).to.deep.equal(third)
  })

  it('refuse 501 items, and record none [BATCH-2]', async () => {
    expectInvalid(await customers(Array.from({ length: 501 }, (_, n) => person(n))), ['items'])
    expect(idsIn(await company.get('/customers'))).to.deep.equal([])
  })

  it('respond 422 only to a body that is not a batch [BATCH-2]', async () => {
    expectInvalid(await company.post('/customers/batch', {}), ['items'])
    expectInvalid(await customers({}), ['items'])
    expectInvalid(await customers(null), ['items'])
    expectInvalid(await company.post('/customers/batch', { items: [], mode: 'x' }), [], ['mode'])
    expectInvalid(await company.post('/customers/batch', [person(1)]), ['body'])
    expect((await customers([])).status).to.equal(200)
  })

  it('are replayed under their Idempotency-Key, mixed results included, without changes [IDEM-840]', async () => {
    const items = [person(1), {}, person(2)]
    const headers = { 'idempotency-key': 'lote-1' }
    const first = await customers(items, headers)
    expect(first.status).to.equal(207)
    await company.call('PATCH', `/customers/${first.body.data[0].id}`, { notes: 'depois' })
    const before = await revision()
    const again = await customers(items, headers)
    expect(again.status).to.equal(207)
    expect(again.text).to.equal(first.text)
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(await revision()).to.equal(before)
    const other = await customers([person(3)], headers)
    expect(other.body.error.code).to.equal('idempotency_key_reuse')
  })

  describe('that failed in part, under the same Idempotency-Key', () => {
    const headers = { 'idempotency-key': 'lote' }
    const taken = (n: number) => ({ ...person(n), name: 'Dona' })
    const freeName = async () => {
      const holder = await company.post('/customers', { name: 'Dona' })
      return () => company.call('PATCH', `/customers/${holder.body.data.id}`, { name: 'Dona Rosa' })
    }

    it('try the failed items again, in the order of the list, and answer 200 when all are done [IDEM-840]', async () => {
      const free = await freeName()
      const items = [person(1), taken(2), { ...person(3), name: 'X' }]
      const first = await customers(items, headers)
      expect(first.status, first.text).to.equal(207)
      expect(errorsOf(first).map(({ index }: { index: number }) => index)).to.deep.equal([1])
      await company.call('PATCH', `/customers/${first.body.data[0].id}`, { notes: 'depois' })
      await free()
      const again = await customers(items, headers)
      expect(again.status, again.text).to.equal(200)
      expect(again.headers.has('idempotent-replayed')).to.equal(false)
      expect(again.body.data[0]).to.deep.equal(first.body.data[0])
      expect(again.body.data[1]).to.include({ external_id: person(2).external_id, name: 'Dona' })
      expect(again.body.data[2]).to.deep.equal(first.body.data[1])
      expect(again.body.meta).to.deep.equal({ succeeded: 3, failed: 0, errors: [] })
      const before = await revision()
      const third = await customers(items, headers)
      expect([third.status, third.text]).to.deep.equal([200, again.text])
      expect(third.headers.get('idempotent-replayed')).to.equal('true')
      expect(await revision()).to.equal(before)
    })

    it('keep what succeeded for the next try, while others fail again [IDEM-840]', async () => {
      const free = await freeName()
      const items = [{}, taken(2), person(1)]
      expect((await customers(items, headers)).body.meta).to.include({ succeeded: 1, failed: 2 })
      await free()
      const second = await customers(items, headers)
      expect([second.status, second.body.meta.succeeded]).to.deep.equal([207, 2])
      const third = await customers(items, headers)
      expect([third.status, third.text]).to.deep.equal([207, second.text])
      expect(third.headers.get('idempotent-replayed')).to.equal('true')
    })

    it('record each item once for concurrent copies [IDEM-6, IDEM-840]', async () => {
      const items = [person(1), {}]
      const replies = await Promise.all(Array.from({ length: 8 }, () => customers(items, headers)))
      expect(new Set(replies.map(({ text }) => text)).size).to.equal(1)
      expect(idsIn(await company.get('/customers'))).to.have.length(1)
    })

    it('are 409 with another body [IDEM-3]', async () => {
      await customers([person(1), {}], headers)
      expect((await customers([person(1), person(2)], headers)).body.error.code).to.equal('idempotency_key_reuse')
    })
  })

  it('that failed whole leave the key free for another body [IDEM-840]', async () => {
    const headers = { 'idempotency-key': 'nada' }
    expect((await customers([{}, 1], headers)).status).to.equal(207)
    const again = await customers([{}, 1], headers)
    expect(again.status).to.equal(207)
    expect(again.headers.has('idempotent-replayed')).to.equal(false)
    expect((await customers([person(1)], headers)).status).to.equal(200)
  })

  it('repeat warnings of items that succeeded before [IDEM-840]', async () => {
    const headers = { 'idempotency-key': 'avisos' }
    const items = [{ external_id: 'a', name: 'Café', price: '1.00', cost: '2.00' }, {}]
    const post = () => company.post('/catalog/items/batch', { items }, headers)
    const first = await post()
    expect(first.body.meta.warnings, first.text).to.have.length(1)
    expect((await post()).text).to.equal(first.text)
  })

  it('return an external_id unchanged if valid, and never as a broken text', async () => {
    const longest = '🥖'.repeat(100)
    await company.post('/customers', { name: 'Ana' })
    const reply = await customers(
      [
        { external_id: longest, name: 'Ana' },
        { external_id: '\ud800', name: 'x' },
        { external_id: `a${'🥖'.repeat(200_000)}`, name: 'x' },
        { external_id: 'a\u0000', name: 'x' },
      ],
      { 'idempotency-key': 'quebrado' },
    )
    expect(reply.status).to.equal(207)
    expect(errorsOf(reply)[0]).to.deep.equal({ index: 0, external_id: longest, code: 'duplicate_resource' })
    expect(reply.text.length).to.be.below(5_000)
    expect(reply.text).to.not.match(/\\ud[89a-f]|\\u0000/i)
    expect(reply.text).to.not.match(/\p{Surrogate}/u)
  })
})
