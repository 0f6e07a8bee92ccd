import { createHash, createHmac } from 'node:crypto'
import { expect } from 'chai'
import { expectInvalid, expectProblem, idsIn } from '../support/answers.ts'
import { FOREIGN_IDS, type Reply, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { createOutsideStore } from '../support/outside-store.ts'
import { rawRequest } from '../support/raw-request.ts'
import { useApi } from '../support/use-api.ts'

describe('Idempotency-Key', () => {
  const api = useApi()
  let company: TestCompany
  let cash: number

  beforeEach(async () => {
    company = await api.company()
    cash = await company.paymentType('cash')
  })

  const post = (path: string, body: unknown, key: string) => company.post(path, body, { 'idempotency-key': key })
  const sale = (total = '10.00') => ({
    items: [{ description: 'Bolo', quantity: '1', unit_price: total }],
    payments: [{ payment_type_id: cash, amount: total }],
  })
  const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')

  /** The second response is the stored first one. */
  function expectReplay(first: Reply, second: Reply): void {
    expect(second.status).to.equal(first.status)
    expect(second.text).to.equal(first.text)
    expect(second.headers.get('content-type')).to.equal(first.headers.get('content-type'))
    expect(first.headers.has('idempotent-replayed')).to.equal(false)
    expect(second.headers.get('idempotent-replayed')).to.equal('true')
    expect(second.headers.get('x-request-id')).to.not.equal(first.headers.get('x-request-id'))
  }

  it('replays every POST with its status and bytes, and records nothing [IDEM-1, IDEM-2]', async () => {
    const { id } = (await company.post('/sales', sale())).body.data
    for (const [path, body] of [
      ['/customers', { name: 'Ana' }],
      ['/customers/batch', { items: [{ external_id: 'b', name: 'Bia' }] }],
      ['/catalog/items', { name: 'Café', price: '1.00' }],
      ['/catalog/items/batch', { items: [{ external_id: 'c', name: 'Café', price: '1.00' }] }],
      ['/catalog/categories', { name: 'Bebidas' }],
      ['/sales', { ...sale(), external_id: 'p-1' }],
      [`/sales/${id}/cancel`, { reason: 'x' }],
    ] as const) {
      const key = `chave de ${path}`
      const first = await post(path, body, key)
      // Creations are 201, batches and actions 200.
      expect(first.status, first.text).to.be.oneOf([200, 201])
      const before = await revision()
      expectReplay(first, await post(path, body, key))
      expectReplay(first, await post(path, body, key))
      expect(await revision()).to.equal(before)
    }
  })

  it('compares JSON by value, not by notation [IDEM-2]', async () => {
    const payments = `"payments": [{"payment_type_id": ${cash}, "amount": "10.00"}]`
    const written = `{"items": [{"description": "Pão", "quantity": "1", "unit_price": "10.00"}], ${payments}}`
    const first = await post('/sales', written, 'k')
    expect(first.status, first.text).to.equal(201)
    for (const same of [
      JSON.stringify(JSON.parse(written)),
      JSON.stringify(JSON.parse(written), null, 4),
      `{${payments}, "items": [{"unit_price": "10.00", "quantity": "1", "description": "P\\u00e3o"}]}`,
      written.replace(`: ${cash},`, `: ${cash}.0e0,`),
    ])
      expectReplay(first, await post('/sales', same, 'k'))
    for (const other of [
      written.replace('"1"', '"1.0"'),
      written.replace('Pão', 'pão'),
      written.replace('{"items"', '{"external_id": "p", "items"'),
    ])
      expectProblem(await post('/sales', other, 'k'), 409, 'idempotency_key_reuse')
    const empty = await post(`/sales/${first.body.data.id}/cancel`, undefined, 'vazio')
    expectReplay(empty, await post(`/sales/${first.body.data.id}/cancel`, {}, 'vazio'))
  })

  describe('null and absent members', () => {
    const base = { name: 'Nula' }
    for (const [path, one, other] of [
      ['/customers', { ...base, phone: null }, base],
      ['/customers', base, { ...base, phone: null, email: null, address: null }],
      [
        '/customers',
        { ...base, address: { city: 'São Paulo', number: null } },
        { ...base, address: { city: 'São Paulo' } },
      ],
      [
        '/customers/batch',
        { items: [{ external_id: 'n', ...base, notes: null }] },
        { items: [{ external_id: 'n', ...base }] },
      ],
    ] as const)
      it(`are the same body: ${JSON.stringify(one)} [IDEM-2]`, async () => {
        const first = await post(path, one, 'nulo')
        // Creations are 201, batches and actions 200.
        expect(first.status, first.text).to.be.oneOf([200, 201])
        expectReplay(first, await post(path, other, 'nulo'))
      })

    it('are the same in a large body [IDEM-2]', async () => {
      const items = Array.from({ length: 300 }, (_, n) => ({
        external_id: `c-${n}`,
        name: `Nula ${n}`,
        notes: 'x'.repeat(60),
      }))
      const first = await post('/customers/batch', { items }, 'nulo')
      expect(first.status, first.text).to.equal(200)
      const withNull = items.map((item) => ({ phone: null, ...item, address: null }))
      expectReplay(first, await post('/customers/batch', { items: withNull }, 'nulo'))
    })

    it('are two bodies of a PATCH, where null clears [IDEM-2, IDEM-3]', async () => {
      const { id } = (await company.post('/customers', { ...base, phone: '11987654321' })).body.data
      const patch = (body: object) => company.call('PATCH', `/customers/${id}`, body, { 'idempotency-key': 'nulo' })
      expect((await patch({ notes: 'a' })).status).to.equal(200)
      expectProblem(await patch({ notes: 'a', phone: null }), 409, 'idempotency_key_reuse')
    })

    it('are two bodies where an element of a list is null [IDEM-2, IDEM-3]', async () => {
      const items = [{ external_id: 'n', ...base }]
      expect((await post('/customers/batch', { items }, 'nulo')).status).to.equal(200)
      expectProblem(await post('/customers/batch', { items: [...items, null] }, 'nulo'), 409, 'idempotency_key_reuse')
    })
  })

  it('compares what has no canonical form by its bytes, and never fails [IDEM-2, HTTP-12]', async () => {
    const body = '{"items": [{"external_id": "a", "name": "Ana"}, 1e999]}'
    const long = `{"items": [{"external_id": "b", "name": "Bia"}, [${'1,'.repeat(20_000)}1e999]]}`
    for (const odd of [body, long]) {
      const key = `chave ${odd.length}`
      const first = await post('/customers/batch', odd, key)
      expect(first.status).to.equal(207)
      expect(first.body.meta.succeeded).to.equal(1)
      expectReplay(first, await post('/customers/batch', odd, key))
      expectProblem(await post('/customers/batch', `${odd} `, key), 409, 'idempotency_key_reuse')
    }
  })

  it('compares a large body by its meaning too [IDEM-2]', async () => {
    const items = Array.from({ length: 300 }, (_, n) => ({
      external_id: `c-${n}`,
      name: `Conceição ${n}`,
      notes: '"\\/é😀'.repeat(20),
      address: { city: 'São Paulo', state: 'SP' },
    }))
    const first = await post('/customers/batch', { items }, 'k')
    expect(first.status, first.text).to.equal(200)
    const reversed = items.map((item) => Object.fromEntries(Object.entries(item).reverse()))
    expectReplay(first, await post('/customers/batch', JSON.stringify({ items: reversed }, null, 2), 'k'))
    const other = [...items.slice(0, -1), { ...items[299], name: 'Conceição 298 ' }]
    expectProblem(await post('/customers/batch', { items: other }, 'k'), 409, 'idempotency_key_reuse')
  })

  it('keeps nothing by which a body could be guessed, in tables and ledger [IDEM-8]', async () => {
    const body = { name: 'Ana', document: '52998224725' }
    await post('/customers', body, 'k')
    const { rows } = await company.core.pool.query(
      'select request_hash from idempotent_answers where company_id = $1',
      [company.id],
    )
    const events = []
    for await (const event of company.core.store.read(`company-${company.id}`, 0)) events.push(event)
    const kept = events.at(-1)?.idempotency?.request_hash
    expect(rows).to.deep.equal([{ request_hash: kept }])
    const text = `POST /api/v1/customers\n${JSON.stringify(body)}`
    expect(kept).to.not.equal(createHash('sha256').update(text).digest('hex'))
    const canonical = 'POST /api/v1/customers\n{"document":"52998224725","name":"Ana"}'
    expect(kept).to.equal(createHmac('sha256', company.core.requestSecret).update(canonical).digest('hex'))
    expect(company.core.requestSecret).to.have.length(32)
  })

  it('a key is recognised by other processes; at another installation it is 409 [IDEM-2, IDEM-8]', async () => {
    const first = await post('/customers', { name: 'Ana' }, 'k')
    const again = await startApi(api.databaseUrl)
    const foreign = await startApi(api.databaseUrl, { requestSecret: Buffer.alloc(32, 'x') })
    const ask = ({ url }: TestApi) =>
      send(
        `${url}/api/v1/customers`,
        'POST',
        { name: 'Ana' },
        { authorization: `Bearer ${company.key}`, 'idempotency-key': 'k' },
      )
    try {
      expectReplay(first, await ask(again))
      expectProblem(await ask(foreign), 409, 'idempotency_key_reuse')
    } finally {
      await Promise.all([again.close(), foreign.close()])
    }
  })

  it('is optional: calls without it are independent', async () => {
    const [a, b] = [await company.post('/sales', sale()), await company.post('/sales', sale())]
    expect([a.status, b.status]).to.deep.equal([201, 201])
    expect(a.body.data.id).to.not.equal(b.body.data.id)
  })

  it('returns the stored response despite later changes of the record [IDEM-2]', async () => {
    const first = await post('/sales', sale(), 'k')
    await company.post(`/sales/${first.body.data.id}/cancel`, {})
    expectReplay(first, await post('/sales', sale(), 'k'))
    const customer = await post('/customers', { name: 'Ana' }, 'c')
    await company.call('DELETE', `/customers/${customer.body.data.id}`)
    expectReplay(customer, await post('/customers', { name: 'Ana' }, 'c'))
  })

  it('with another body or path is 409 idempotency_key_reuse, without changes [IDEM-3]', async () => {
    const first = await post('/sales', sale(), 'k')
    const before = await revision()
    for (const [path, body] of [
      ['/sales', sale('11.00')],
      ['/sales', { ...sale(), external_id: 'p' }],
      ['/customers', sale()],
      ['/customers', { name: 'Ana' }],
      [`/sales/${first.body.data.id}/cancel`, {}],
    ] as const) {
      const reply = await post(path, body, 'k')
      expect(expectProblem(reply, 409, 'idempotency_key_reuse')).to.equal(undefined)
    }
    expect(await revision()).to.equal(before)
    expectReplay(first, await post('/sales', sale(), 'k'))
  })

  it('of a refused call can be reused for a corrected one [IDEM-4]', async () => {
    expectInvalid(await post('/sales', { ...sale(), items: [] }, 'k'), ['items'])
    expectProblem(await post('/sales', { ...sale(), payments: [] }, 'k'), 422, 'payment_mismatch')
    const { data } = (await company.post('/sales', { ...sale(), external_id: 'p' })).body
    const duplicate = await post('/sales', { ...sale(), external_id: 'p' }, 'k')
    expect(expectProblem(duplicate, 409, 'duplicate_resource')).to.include({ conflicting_id: data.id })
    const first = await post('/sales', sale(), 'k')
    expect(first.status).to.equal(201)
    expectReplay(first, await post('/sales', sale(), 'k'))
  })

  for (const [what, path, body] of [
    ['an invalid field', '/customers', { name: '' }],
    ['an unknown field', '/customers', { name: 'Ana', nome: 'Ana' }],
    ['a body that is no object', '/customers', []],
    ['a body that is no batch', '/customers/batch', {}],
    ['a query', '/customers?modo=x', { name: 'Ana' }],
    ['the path of no possible record', '/sales/0/cancel', {}],
    ['the path of no record', '/sales/999999/cancel', {}],
  ] as const)
    it(`with ${what} is 409 where it belongs to another request, otherwise free [IDEM-3]`, async () => {
      const free = await post(path, body, 'livre')
      expect(free.body.error.code).to.not.equal('idempotency_key_reuse')
      expect((await post('/customers', { name: 'Bia' }, 'livre')).status).to.equal(201)
      expectProblem(await post(path, body, 'livre'), 409, 'idempotency_key_reuse')
    })

  it('belongs to an API key: another one of the company, and another company, use it apart [IDEM-5]', async () => {
    const first = await post('/sales', sale(), 'k')
    const { key } = await company.newKey(['sales:write'])
    const byOther = (total?: string) =>
      company.post('/sales', sale(total), { 'idempotency-key': 'k', authorization: `Bearer ${key}` })
    const second = await byOther('11.00')
    expect(second.status, second.text).to.equal(201)
    expect(second.body.data.id).to.not.equal(first.body.data.id)
    expectReplay(second, await byOther('11.00'))
    expectProblem(await byOther(), 409, 'idempotency_key_reuse')
    expectReplay(first, await post('/sales', sale(), 'k'))
    const other = await api.company({ idsFrom: FOREIGN_IDS })
    const otherCash = await other.paymentType('cash')
    const body = { ...sale(), payments: [{ payment_type_id: otherCash, amount: '10.00' }] }
    const reply = await other.post('/sales', body, { 'idempotency-key': 'k' })
    expect(reply.status).to.equal(201)
    expect(reply.body.data.id).to.not.equal(first.body.data.id)
  })

  it('bypasses no scope: a key without the scope is refused before any replay [IDEM-5]', async () => {
    await post('/sales', sale(), 'k')
    const { key } = await company.newKey(['sales:read'])
    const reply = await company.post('/sales', sale(), { 'idempotency-key': 'k', authorization: `Bearer ${key}` })
    expectProblem(reply, 403, 'insufficient_scope')
  })

  it('is compared in every character, including case [IDEM-1]', async () => {
    const [a, b] = [await post('/sales', sale(), 'Key'), await post('/sales', sale(), 'key')]
    expect(a.body.data.id).to.not.equal(b.body.data.id)
  })

  it('has 1 to 255 visible characters [IDEM-1]', async () => {
    const longest = 'k'.repeat(255)
    const first = await post('/sales', sale(), longest)
    expectReplay(first, await post('/sales', sale(), longest))
    expectReplay(await post('/sales', sale(), 'a b!~"\\{}'), await post('/sales', sale(), 'a b!~"\\{}'))
    const count = idsIn(await company.get('/sales')).length
    for (const key of ['', 'k'.repeat(256), 'chavé', 'a\tb']) {
      const reply = await rawRequest(api.url, {
        method: 'POST',
        path: '/api/v1/sales',
        headers: { authorization: `Bearer ${company.key}`, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(sale()),
      })
      expectInvalid(reply, ['Idempotency-Key'])
    }
    expect(idsIn(await company.get('/sales'))).to.have.length(count)
  })

  it('is stored for 24 hours and then deleted [IDEM-4]', async () => {
    const first = await post('/sales', sale(), 'k')
    const age = (interval: string) =>
      company.core.pool.query(
        `update ops.idempotent_answers set created_at = created_at - $2::interval where company_id = $1`,
        [company.id, interval],
      )
    await age('23 hours 59 minutes')
    expectReplay(first, await post('/sales', sale(), 'k'))
    await age('2 minutes')
    const later = await post('/sales', sale('11.00'), 'k')
    expect(later.status).to.equal(201)
    expect(later.headers.has('idempotent-replayed')).to.equal(false)
    expectReplay(later, await post('/sales', sale('11.00'), 'k'))
  })

  describe('of a PUT, PATCH or DELETE', () => {
    const call = (method: string, path: string, body: unknown, key: string) =>
      company.call(method, path, body, { 'idempotency-key': key })
    const stored = async () => {
      const { rows } = await company.core.pool.query<{ key: string }>(
        'select key from idempotent_answers where company_id = $1 order by key',
        [company.id],
      )
      return rows.map(({ key }) => key.split(' ')[1])
    }
    const item = async (stock = '10') =>
      (await company.post('/catalog/items', { name: 'Café', price: '10.00', stock })).body.data.id as number

    it('adjusts stock once, for any lost response', async () => {
      const id = await item()
      const adjust = () => call('PATCH', `/catalog/items/${id}`, { stock_adjustment: '-3' }, 'k')
      const first = await adjust()
      expect(first.body.data.stock).to.equal('7.000')
      const before = await revision()
      expectReplay(first, await adjust())
      expect(await revision()).to.equal(before)
      expect((await company.get(`/catalog/items/${id}`)).body.data.stock).to.equal('7.000')
      const next = await call('PATCH', `/catalog/items/${id}`, { stock_adjustment: '-3' }, 'outra')
      expect(next.body.data.stock).to.equal('4.000')
    })

    it('adjusts stock once for concurrent copies in several processes [IDEM-6]', async () => {
      const id = await item()
      const another = await startApi(api.databaseUrl)
      try {
        const replies = await Promise.all(
          Array.from({ length: 20 }, (_, n) =>
            send(
              `${n % 2 === 0 ? api.url : another.url}/api/v1/catalog/items/${id}`,
              'PATCH',
              { stock_adjustment: '-3' },
              { authorization: `Bearer ${company.key}`, 'idempotency-key': 'k' },
            ),
          ),
        )
        for (const { status, text } of replies) expect([status, text]).to.deep.equal([200, replies[0]?.text])
        expect(replies.filter(({ headers }) => !headers.has('idempotent-replayed'))).to.have.length(1)
        expect((await company.get(`/catalog/items/${id}`)).body.data.stock).to.equal('7.000')
      } finally {
        await another.close()
      }
    })

    it('replays the original response of a PUT, 201 included, despite later changes [IDEM-2]', async () => {
      const put = (name: string, key: string) => call('PUT', '/customers/by-external/a', { name }, key)
      const created = await put('Ana', 'a')
      expect(created.status).to.equal(201)
      const replaced = await put('Bia', 'b')
      expect(replaced.status).to.equal(200)
      expectReplay(created, await put('Ana', 'a'))
      expectReplay(replaced, await put('Bia', 'b'))
      expect((await company.get(`/customers/${created.body.data.id}`)).body.data.name).to.equal('Bia')
    })

    it('replays a PATCH without changes, without deciding again', async () => {
      const id = await item()
      const first = await call('PATCH', `/catalog/items/${id}`, { name: 'Café' }, 'k')
      await company.call('PATCH', `/catalog/items/${id}`, { name: 'Chá' })
      expectReplay(first, await call('PATCH', `/catalog/items/${id}`, { name: 'Café' }, 'k'))
    })

    it('replays the 204 of a DELETE; without the key the record is 404', async () => {
      const id = await item()
      const first = await call('DELETE', `/catalog/items/${id}`, undefined, 'k')
      expect(first.status).to.equal(204)
      const before = await revision()
      expectReplay(first, await call('DELETE', `/catalog/items/${id}`, undefined, 'k'))
      expect(await revision()).to.equal(before)
      expectProblem(await company.call('DELETE', `/catalog/items/${id}`), 404, 'not_found')
    })

    it('with another method, path or body is 409, without changes [IDEM-3]', async () => {
      const id = await item()
      const path = `/catalog/items/${id}`
      await call('PATCH', path, { stock_adjustment: '-3' }, 'k')
      const before = await revision()
      for (const [method, other, body] of [
        ['PATCH', path, { stock_adjustment: '-4' }],
        ['PATCH', `/catalog/items/${await item()}`, { stock_adjustment: '-3' }],
        ['DELETE', path, undefined],
        ['PUT', '/catalog/items/by-external/a', { name: 'Chá', price: '1.00' }],
      ] as const)
        expectProblem(await call(method, other, body, 'k'), 409, 'idempotency_key_reuse')
      expect(Number(await revision())).to.equal(Number(before) + 1)
    })

    it('can be reused after a refusal [IDEM-4]', async () => {
      const id = await item()
      const path = `/catalog/items/${id}`
      expectProblem(await call('PATCH', path, { stock_adjustment: '-30' }, 'k'), 422, 'insufficient_stock')
      expect((await call('PATCH', path, { stock_adjustment: '-3' }, 'k')).body.data.stock).to.equal('7.000')
    })

    it('has 1 to 255 visible characters [IDEM-1]', async () => {
      const id = await item()
      for (const method of ['PATCH', 'DELETE'])
        expectInvalid(await call(method, `/catalog/items/${id}`, {}, 'k'.repeat(256)), ['Idempotency-Key'])
      expectInvalid(await call('PUT', '/customers/by-external/a', { name: 'Ana' }, ''), ['Idempotency-Key'])
    })

    it('is required to store a response', async () => {
      const id = await item()
      await company.call('PATCH', `/catalog/items/${id}`, { stock_adjustment: '1' })
      await company.call('PUT', '/customers/by-external/a', { name: 'Ana' })
      expect(await stored()).to.deep.equal([])
      await call('PATCH', `/catalog/items/${id}`, { stock_adjustment: '1' }, 'k')
      await company.call('DELETE', `/catalog/items/${id}`)
      expect(await stored()).to.deep.equal(['k'])
    })
  })

  for (const method of ['GET', 'HEAD'])
    it(`is refused by a ${method}, which needs none [IDEM-1]`, async () => {
      for (const path of ['/customers', '/me', '/events/stream']) {
        const reply = await send(`${api.url}/api/v1${path}`, method, undefined, {
          authorization: `Bearer ${company.key}`,
          'idempotency-key': 'k',
        })
        expect(reply.status, path).to.equal(422)
        if (method === 'GET')
          expect(reply.body.error.details.fields).to.deep.equal({
            'Idempotency-Key': ['só vale em POST, PUT, PATCH e DELETE: retire-a desta chamada'],
          })
      }
    })
})

describe('Idempotency-Key on a store outside Postgres', () => {
  const database = useDatabase()
  const store = createOutsideStore()
  let api: TestApi
  let company: TestCompany

  before(async () => {
    api = await startApi(database.url, { store, log: () => {} })
  })
  beforeEach(async () => {
    company = await api.company()
  })
  after(() => api.close())

  /** The process dies between the append and its COMMIT: the client gets no response. */
  async function lost(call: () => Promise<Reply>): Promise<void> {
    const append = store.append
    store.append = async (...args) => {
      await append.apply(store, args)
      store.down = true
      throw new Error('the process died')
    }
    expectProblem(await call(), 503, 'unavailable')
    store.append = append
    store.down = false
  }

  const item = async () =>
    (await company.post('/catalog/items', { name: 'Café', price: '10.00', stock: '10' })).body.data.id as number

  for (const [what, body, changed] of [
    ['a PATCH that adjusts stock', { stock_adjustment: '-3' }, { stock: '7.000' }],
    [
      'a PATCH that adjusts stock and changes the price',
      { price: '12.00', stock_adjustment: '-3' },
      { stock: '7.000', price: '12.00' },
    ],
  ] as const)
    it(`makes ${what} happen once if the response was lost in a crash [IDEM-7]`, async () => {
      const path = `/catalog/items/${await item()}`
      const adjust = () => company.call('PATCH', path, body, { 'idempotency-key': 'k' })
      await lost(adjust)
      const again = await adjust()
      expect(again.status, again.text).to.equal(200)
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      expect(again.body.data).to.include(changed)
      expect((await company.get(path)).text).to.equal(again.text)
    })

  it('makes catch-up after a crash store the 201 of a PUT [IDEM-7]', async () => {
    const put = () => company.call('PUT', '/customers/by-external/a', { name: 'Ana' }, { 'idempotency-key': 'k' })
    await lost(put)
    const again = await put()
    expect([again.status, again.headers.get('idempotent-replayed')]).to.deep.equal([201, 'true'])
    expect((await company.get('/customers')).body.data).to.deep.equal([again.body.data])
  })

  it('makes catch-up after a crash store the 204 of a DELETE [IDEM-7]', async () => {
    const path = `/catalog/items/${await item()}`
    const remove = () => company.call('DELETE', path, undefined, { 'idempotency-key': 'k' })
    await lost(remove)
    const again = await remove()
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).to.deep.equal([204, '', 'true'])
    expect((await company.get(path)).body.data.deleted_at).to.be.a('string')
  })
})
