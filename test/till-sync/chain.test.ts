import { expect } from 'chai'
import { tellOldTails } from '#access/till-access.ts'
import { EVENT_TYPES, type EventName } from '#events/catalogue.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { type ChainedTill, chainOf, chainTill, GENESIS, hashOfElement, newTillKey } from '../support/chained-till.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

describe('the chain of a till', () => {
  const api = useApi()
  let company: TestCompany
  let till: TestTill
  let counter: Counter
  let chain: ChainedTill

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company)
    chain = await chainTill(till)
  })

  const codes = ({ results }: Json): string[][] =>
    results.map(({ warnings = [] }: Json) => warnings.map(({ code }: Json) => code))
  const statuses = ({ results }: Json): string[] => results.map(({ status }: Json) => status)
  const listed = async (): Promise<Json> => (await company.get('/tills')).body.data[0]
  const created_at = new Date().toISOString()
  const sale = (id: string, fields: object = {}) => counter.sale(id, { created_at, ...fields })

  describe('POST /api/sync/tills', () => {
    it('gives a device its number, and the same key the same till [TILL-1130]', async () => {
      const { public_key } = await newTillKey()
      const reply = await till.post('/sync/tills', { name: 'Quiosque', public_key })
      const known = { last_number: 0, last_hash: null }
      expect(reply.body).to.deep.equal({ success: true, id: 2, number: 2, name: 'Quiosque', ...known })
      const again = await till.post('/sync/tills', { name: 'Outro nome', public_key })
      expect(again.body).to.deep.equal(reply.body)
    })

    it('tells a till that was copied back the last number that is known [TILL-1172]', async () => {
      const key = await newTillKey()
      const register = async (): Promise<Json> =>
        (await till.post('/sync/tills', { name: 'Quiosque', public_key: key.public_key })).body
      const own = chainOf((await register()).id, key.pair.privateKey)
      const told = async (header: string): Promise<Json> =>
        (await till.call('GET', '/sync/status', undefined, { till: header })).body.till
      const [one, two] = [await own.next(sale('k1')), await own.next(sale('k2'))]
      await upload(till, [one, two])
      const known = { last_number: 2, last_hash: hashOfElement(two) }
      expect(await register()).to.deep.include(known)
      expect(await told(`${own.id}/1`)).to.deep.equal({ id: own.id, ...known })
      expect(await told(`${own.id}/5`)).to.deep.equal({ id: own.id, last_number: 5, last_hash: null })
      expect(await register()).to.deep.include({ last_number: 5, last_hash: null })
      expect(await told('99/5')).to.equal(null)
    })

    it('refuses what is no key on P-256, and a text that is too long [TILL-1130]', async () => {
      const { public_key } = await newTillKey()
      const wrong = [{}, { ...public_key, crv: 'P-384' }, { ...public_key, x: 'A' }, { ...public_key, y: 5 }, null]
      for (const key of wrong) expectFailure(await till.post('/sync/tills', { name: 'a', public_key: key }), 422)
      expectFailure(await till.post('/sync/tills', { name: 'a'.repeat(101), public_key }), 422)
      expectFailure(await till.post('/sync/tills', { public_key }), 422)
    })

    it('gives 50 tills at most [TILL-1131]', async () => {
      for (let n = 2; n <= 50; n++) await chainTill(till)
      const { public_key } = await newTillKey()
      const errors = expectFailure(await till.post('/sync/tills', { name: 'a', public_key }), 422)
      expect(errors.public_key[0]).to.include('50 caixas')
    })
  })

  it('records a chain of sales, movements and returns without a warning [TILL-1134]', async () => {
    const opened = { offline_id: 'm1', session_id: 's1', kind: 'opened', amount: 10, at: created_at }
    await till.post('/sync/cash', { movements: [await chain.next(opened)] })
    const sent = [await chain.next(sale('a')), await chain.next(sale('b'))]
    expect(codes(await upload(till, sent))).to.deep.equal([[], []])
    const goods = { offline_id: 'r1', sale_offline_id: 'a', reason: 'Troca', returned_at: created_at }
    const returned = {
      ...goods,
      items: [{ line: 0, quantity: 1 }],
      refunds: [{ payment_type_id: counter.cash, amount: 10 }],
    }
    const reply = await till.post('/sync/returns', { returns: [await chain.next(returned)] })
    expect(reply.body.results[0].status, reply.text).to.equal('created')
    expect(codes(reply.body)).to.deep.equal([[]])
    const cancelled = await upload(till, [await chain.next({ ...sale('b'), status: 'cancelled' })])
    expect(statuses(cancelled)).to.deep.equal(['cancelled'])
    expect(await listed()).to.deep.include({ last_number: 5, missing: [] })
  })

  it('warns of a wrong signature, an unknown till and a malformed place, and refuses none [TILL-1135]', async () => {
    const first = await chain.next(sale('a'))
    const other = await chainTill(await openTill(api.url, company))
    const sent = [
      { ...first, total: 9, payments: [{ ...first.payments[0], amount: 9 }], amount_received: 9 },
      { ...sale('b'), till: { ...first.till, id: 99 } },
      { ...sale('c'), till: 'x' },
      { ...sale('d'), till: { ...first.till, signature: 'A'.repeat(86) } },
      { ...(await other.next(sale('e'))), till: { ...(await other.next(sale('e'))).till, id: chain.id } },
    ]
    const body = await upload(till, sent)
    expect(statuses(body)).to.deep.equal(Array(5).fill('created'))
    for (const each of codes(body)) expect(each).to.include('till_signature')
    expect(await listed()).to.deep.include({ last_number: 0, missing: [] })
  })

  it('shares the drawer of a till among its operators [TILL-1323]', async () => {
    const other = await openTill(api.url, company)
    const moved = (offline_id: string, kind: string, fields: object = {}) => ({
      ...{ offline_id, session_id: 'g', kind, amount: 20, at: new Date().toISOString() },
      ...fields,
    })
    const send = async (from: TestTill, movement: object) =>
      (await from.post('/sync/cash', { movements: [movement] })).body.results[0]
    expect((await send(till, await chain.next(moved('m1', 'opened')))).status).to.equal('created')
    expect(await send(other, await chain.next(moved('m2', 'in')))).to.deep.equal({
      ...{ offline_id: 'm2', session_id: 'g', status: 'created' },
    })
    // Neither unsigned nor signed by another till.
    const stranger = await chainTill(other, 'Outro')
    const { till: place } = await stranger.next(moved('m3', 'out'))
    const forged = { ...moved('m4', 'out'), till: { ...place, id: chain.id } }
    for (const movement of [moved('m5', 'out'), await stranger.next(moved('m6', 'out')), forged])
      expect(await send(other, movement)).to.include({ status: 'refused', code: 'session_of_other' })
    const sold = await chain.next(sale('a', { cash_session_id: 'g' }))
    expect(codes(await upload(other, [sold]))).to.deep.equal([[]])
    expect(codes(await upload(other, [sale('b', { cash_session_id: 'g' })]))).to.deep.equal([['session_of_other']])
    const closed = { ...moved('m7', 'closed', { counted: { cash: 60 } }), amount: null }
    expect((await send(other, await chain.next(closed))).status).to.equal('created')
    const [session] = (await company.get('/cash-sessions')).body.data
    expect(session).to.deep.include({ opened_by_user_id: till.user.id, closed_by_user_id: other.user.id })
    expect(session).to.deep.include({ expected: '60.00', counted: '60.00', difference: '0.00' })
    expect(session.name).to.match(/^Gaveta de /)
  })

  it('records nothing of an element but its contract, also if it waits for a person [TILL-1134]', async () => {
    const returned = (id: string, sale_offline_id: string) => ({
      ...{ offline_id: id, sale_offline_id, reason: 'Troca', returned_at: new Date().toISOString() },
      ...{ items: [{ line: 0, quantity: 1 }], refunds: [{ payment_type_id: counter.cash, amount: 10 }] },
    })
    await till.post('/sync/returns', { returns: [await chain.next(returned('r1', 'later'))] })
    await upload(till, [await chain.next(sale('a')), await chain.next(sale('later'))])
    await till.post('/sync/cash', {
      movements: [await chain.next({ offline_id: 'm', session_id: 'g', kind: 'opened', amount: 20, at: created_at })],
    })
    const { data } = (await company.get('/events?limit=100')).body
    for (const { type, data: recorded } of data) {
      const shape = EVENT_TYPES[type as EventName].data
      expect(
        Object.keys(recorded).filter((name) => !(name in shape.shape)),
        type,
      ).to.deep.equal([])
    }
    expect(data.map(({ type }: Json) => type)).to.include.members(['ReturnAwaited', 'SaleReturned'])
  })

  it('warns of a broken chain on the element that shows it, once both are known [TILL-1136]', async () => {
    const [one, two] = [await chain.next(sale('a')), await chain.next(sale('b'))]
    const three = await chain.place(sale('c'), 3, 'f'.repeat(64))
    expect(codes(await upload(till, [three]))).to.deep.equal([[]])
    expect(codes(await upload(till, [one]))).to.deep.equal([[]])
    expect(codes(await upload(till, [two]))).to.deep.equal([['till_chain']])
    expect(codes(await upload(till, [one, two, three]))).to.deep.equal([[], ['till_chain'], ['till_chain']])
    const first = await (await chainTill(till)).place(sale('d'), 1, 'e'.repeat(64))
    expect(codes(await upload(till, [first]))).to.deep.equal([['till_chain']])
  })

  it('warns of a number that was used for something else, and not of a repetition [TILL-1137]', async () => {
    const one = await chain.next(sale('a'))
    const signedAgain = await chain.place(sale('a'), 1, GENESIS)
    const other = await chain.place(sale('b'), 1, GENESIS)
    await upload(till, [one])
    const body = await upload(till, [one, signedAgain, other])
    expect(statuses(body)).to.deep.equal(['duplicate', 'duplicate', 'created'])
    expect(codes(body)).to.deep.equal([[], [], ['till_number']])
    const two = await chain.place(sale('c'), 2, hashOfElement(one))
    expect(codes(await upload(till, [two]))).to.deep.equal([[]])
  })

  it('takes a chain in any order, twice and from two uploads at once, without a warning [TILL-1136]', async () => {
    const elements = []
    for (let n = 1; n <= 12; n++) elements.push(await chain.next(sale(`s${n}`)))
    const mixed = [...elements.slice(7), ...elements.slice(0, 7)].reverse()
    const answers = await Promise.all([upload(till, mixed), upload(till, elements), upload(till, mixed.slice(3))])
    for (const each of answers) expect(codes(each).flat()).to.deep.equal([])
    expect(answers.flatMap(statuses).filter((status) => status === 'created')).to.have.length(12)
    expect(await listed()).to.deep.include({ last_number: 12, missing: [] })
  })

  it('counts a refused element as come [TILL-1139]', async () => {
    const bad = await chain.next(sale('a', { items: [{ product_id: 999, quantity: 1, price: 10, total: 10 }] }))
    const worse = await chain.next({ ...sale('b'), total: 'x' })
    const body = await upload(till, [bad, worse, await chain.next(sale('c'))])
    expect(statuses(body)).to.deep.equal(['error', 'error', 'created'])
    expect(codes(body)).to.deep.equal([[], [], []])
    expect(await listed()).to.deep.include({ last_number: 3, missing: [] })
  })

  describe('the header Till', () => {
    const call = (value: string, from = till) => from.call('GET', '/sync/status', undefined, { till: value })

    it('tells the last contact and the missing numbers at once [TILL-1138, TILL-1139]', async () => {
      expect(await listed()).to.deep.equal({
        ...{ id: 1, number: 1, name: 'Balcão', last_seen_at: null, last_number: 0, missing: [] },
      })
      const elements = []
      for (let n = 1; n <= 4; n++) elements.push(await chain.next(sale(`s${n}`)))
      await upload(till, [elements[0], elements[2]])
      expect((await listed()).missing).to.deep.equal([[2, 2]])
      await call(`${chain.id}/6`)
      const shown = await listed()
      expect(shown).to.deep.include({
        last_number: 6,
        missing: [
          [2, 2],
          [4, 6],
        ],
      })
      expect(Math.abs(Date.parse(shown.last_seen_at) - Date.now())).to.be.below(60_000)
      await call(`${chain.id}/5`)
      expect((await listed()).last_number).to.equal(6)
      await upload(till, elements)
      expect((await listed()).missing).to.deep.equal([[5, 6]])
    })

    it('ignores what names no till of the company [TILL-1138]', async () => {
      const stranger = await openTill(api.url, await api.company())
      for (const value of ['x', '0/1', '1/', '-1/2', '99/4', `${chain.id}/${'9'.repeat(40)}`])
        expect((await call(value)).status).to.equal(200)
      expect((await call(`${chain.id}/4`, stranger)).status).to.equal(200)
      expect(await listed()).to.deep.include({ last_seen_at: null, last_number: 0 })
    })
  })

  it('tells a gap between numbers that came once, as an event [TILL-1141]', async () => {
    const elements = []
    for (let n = 1; n <= 7; n++) elements.push(await chain.next(sale(`s${n}`)))
    for (const sent of [[elements[0], elements[3]], [elements[6]], [elements[2]], elements])
      await upload(till, sent as unknown[])
    const events = (await company.get('/events?types=TillGapDetected')).body.data
    expect(events.map(({ data }: Json) => data)).to.deep.equal([
      { id: 1, missing: [[2, 3]] },
      { id: 1, missing: [[5, 6]] },
    ])
    expect((await listed()).missing).to.deep.equal([])
  })

  it('tells a tail once, a day after the till has named it, also by webhook [TILL-1142]', async () => {
    const { pool, writer } = api.core
    const onError = (error: unknown) => expect.fail(String(error))
    const tell = () => tellOldTails({ pool, writer, onError })
    const call = (last: number) => till.call('GET', '/sync/status', undefined, { till: `${chain.id}/${last}` })
    const age = () =>
      pool.query("update ops.till_contacts set tail_since = tail_since - interval '24 hours' where company_id = $1", [
        company.id,
      ])
    const told = async () => (await company.get('/events?types=TillGapDetected')).body.data
    await company.post('/webhooks', { url: 'https://loja.example/gancho', events: ['till.gap_detected'] })
    await upload(till, [await chain.next(sale('a'))])
    await call(3)
    await tell()
    expect(await told()).to.deep.equal([])
    await age()
    await call(4)
    await tell()
    await tell()
    const [first, ...others] = await told()
    expect(others).to.deep.equal([])
    expect(first.data).to.deep.equal({ id: 1, missing: [[2, 4]] })
    const { rows } = await pool.query<{ body: string }>(
      "select body from ops.webhook_messages where company_id = $1 and event = 'till.gap_detected'",
      [company.id],
    )
    expect(rows.map(({ body }) => JSON.parse(body)).map(({ event, data }) => [event, data])).to.deep.equal([
      ['till.gap_detected', { id: 1, number: 1, name: 'Balcão', missing: [[2, 4]] }],
    ])
    await call(5)
    await age()
    await tell()
    expect((await told()).map(({ data }: Json) => data.missing)).to.deep.equal([[[2, 4]], [[5, 5]]])
  })

  it('outlives a reset of the test data [TILL-1148]', async () => {
    company = await api.company({ test: true })
    till = await openTill(api.url, company)
    counter = await openCounter(company)
    chain = await chainTill(till)
    const elements = [await chain.next(sale('a')), await chain.next(sale('b'))]
    await upload(till, elements)
    const before = await listed()
    const reset = await company.post('/test/reset', undefined, { 'idempotency-key': 'r' })
    expect(reset.status, reset.text).to.equal(200)
    expect(await listed()).to.deep.equal(before)
    const { data } = (await company.get('/catalog/items')).body
    expect(data).to.deep.equal([])
    counter = await openCounter(company)
    expect(codes(await upload(till, [await chain.next(sale('c'))]))).to.deep.equal([[]])
    expect(await api.core.verifyTables(company.id)).to.deep.include({ kind: 'verified', differences: [] })
  })
})
