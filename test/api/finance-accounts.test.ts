import { expect } from 'chai'
import { accountOfSale, SIDES, settle } from '../support/accounts.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import { FOREIGN_IDS, type Json, type Reply, type TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

const body = { description: 'Aluguel', amount: '100.00', due_date: '2099-03-10' }
const pix = { payment_method: 'pix' }
const MISSING = 9_000_001

for (const side of SIDES) {
  const { path, party } = side
  const [byId, byExternalId, partyName] = [`${party}_id`, `${party}_external_id`, `${party}_name`]

  describe(`finance: ${path}`, () => {
    const api = useApi()
    let company: TestCompany

    beforeEach(async () => {
      company = await api.company()
    })

    const create = async (fields: object = {}): Promise<Json> => {
      const reply = await company.post(path, { ...body, ...fields })
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data
    }
    const settled = async (fields: object = {}): Promise<Json> => {
      const reply = await settle(company, side, (await create(fields)).id, pix)
      expect(reply.status, reply.text).to.equal(200)
      return reply.body.data
    }
    const newParty = async (name: string, external_id?: string): Promise<Json> =>
      (await company.post(side.parties, { name, external_id })).body.data
    const put = (externalId: string, fields: unknown) =>
      company.call('PUT', `${path}/by-external/${encodeURIComponent(externalId)}`, fields)
    const patch = (id: number, fields: unknown) => company.call('PATCH', `${path}/${id}`, fields)
    const remove = (id: number) => company.call('DELETE', `${path}/${id}`)
    const revision = async () => (await company.get('/me')).headers.get('x-ledger-revision')

    it('POST creates with all fields, with equal bytes in POST, GET and list [ACCT-1]', async () => {
      const ana = await newParty('Ana "Aspas" \\ \u2028', 'p1')
      const reply = await company.post(path, { ...body, external_id: 'a', [byExternalId]: 'p1' })
      expect(reply.status).to.equal(201)
      const { id, created_at, updated_at, ...rest } = reply.body.data
      expect(rest).to.deep.equal({
        ...body,
        external_id: 'a',
        origin: 'api',
        [byId]: ana.id,
        [byExternalId]: 'p1',
        [partyName]: ana.name,
        status: 'pending',
        is_overdue: false,
        paid_at: null,
        payment_method: null,
        settled_on: null,
        sale_id: null,
        paid_amount: '0.00',
        open_amount: body.amount,
        payments: [],
        installment: null,
      })
      expect(created_at).to.match(LOCAL_TIME).and.to.equal(updated_at)
      expect((await company.get(`${path}/${id}`)).text).to.equal(reply.text)
      expect((await company.get(path)).text).to.include(`{"data":[${recordText(reply)}],`)
    })

    it('POST requires description, amount and due_date; the counterparty is optional [ACCT-2]', async () => {
      expect(await create()).to.include({ external_id: null, [byId]: null, [byExternalId]: null, [partyName]: null })
      expectInvalid(await company.post(path, {}), ['description', 'amount', 'due_date'])
      const wrong = { description: ' ', amount: '0.00', due_date: '2026-02-30', [byId]: 0, status: 'settled' }
      expectInvalid(await company.post(path, wrong), ['description', 'amount', 'due_date', byId], ['status'])
    })

    it('PATCH changes the given fields, null removes the counterparty, and {} records nothing [REC-5, ACCT-1]', async () => {
      const ana = await newParty('Ana', 'p1')
      const { id } = await create({ external_id: 'a', [byId]: ana.id })
      const reply = await patch(id, { amount: '2.50', due_date: '2000-01-01', external_id: null })
      expect(reply.status).to.equal(200)
      const after = { amount: '2.50', due_date: '2000-01-01', external_id: null, is_overdue: true }
      expect(reply.body.data).to.include({ ...after, [byId]: ana.id })
      expect((await company.get(`${path}/${id}`)).text).to.equal(reply.text)
      const before = await revision()
      expect((await patch(id, {})).text).to.equal(reply.text)
      expect(await revision()).to.equal(before)
      expect((await patch(id, { [byExternalId]: null })).body.data).to.include({ [byId]: null, [partyName]: null })
    })

    it('DELETE responds 204 once, and adds the account to the list of deleted records [LIST-6, ACCT-1]', async () => {
      const { id } = await create({ external_id: 'a' })
      const reply = await remove(id)
      expect([reply.status, reply.text]).to.deep.equal([204, ''])
      expectProblem(await remove(id), 404, 'not_found')
      expectProblem(await company.get(`${path}/${id}`), 404, 'not_found')
      expectProblem(await settle(company, side, id, pix), 404, 'not_found')
      expect(idsIn(await company.get(path))).to.deep.equal([])
      const [gone] = (await company.get(`${path}/deleted`)).body.data
      expect(gone).to.have.all.keys('id', 'external_id', 'deleted_at')
      expect(gone).to.include({ id, external_id: 'a' })
      expectProblem(await remove((await settled()).id), 409, 'already_settled')
    })

    it('PUT by-external creates, replaces, repeats and revives [REC-2, ACCT-1]', async () => {
      await newParty('Ana', 'p1')
      const created = await put('a', { ...body, [byExternalId]: 'p1' })
      expect(created.status).to.equal(201)
      const { id } = created.body.data
      const before = await revision()
      expect((await put('a', { ...body, [byExternalId]: 'p1' })).text).to.equal(created.text)
      expect(await revision()).to.equal(before)
      const replaced = await put('a', { ...body, amount: '5.00' })
      expect(replaced.status).to.equal(200)
      expect(replaced.body.data).to.include({ id, amount: '5.00', [byId]: null })
      await remove(id)
      const revived = await put('a', body)
      expect([revived.status, revived.body.data.id]).to.deep.equal([200, id])
      expect(idsIn(await company.get(`${path}/deleted`))).to.deep.equal([])
      expectInvalid(await put('a', { ...body, external_id: 'b' }), ['external_id'])
      expectInvalid(await put('a', { ...body, [byId]: MISSING }), [byId])
      await settle(company, side, id, pix)
      const repeated = await put('a', body)
      expect([repeated.status, repeated.body.data.status]).to.deep.equal([200, 'settled'])
      expectProblem(await put('a', { ...body, amount: '5.00' }), 409, 'already_settled')
    })

    it('batch decides each item separately [ACCT-1, BATCH-1]', async () => {
      await settled({ external_id: 'paid' })
      await accountOfSale(company, side, { external_id: 'sale' })
      const items = [
        { ...body, external_id: 'a' },
        { ...body, external_id: 'paid', amount: '5.00' },
        { ...body, external_id: 'sale' },
        { ...body, external_id: 'b', [byId]: MISSING },
        { ...body, external_id: 'c', amount: '1' },
        body,
        { ...body, external_id: 'a', amount: '7.00' },
        { ...body, external_id: 'paid' },
      ]
      const reply = await company.post(`${path}/batch`, { items })
      expect(reply.status).to.equal(207)
      expect(reply.body.data.map((record: Json) => record.amount)).to.deep.equal(['100.00', '7.00', '100.00'])
      expect(reply.body.meta.errors.map(({ index, code }: Json) => [index, code])).to.deep.equal([
        [1, 'already_settled'],
        [2, 'managed_by_pdv'],
        [3, 'validation_failed'],
        [4, 'validation_failed'],
        [5, 'validation_failed'],
      ])
      expect((await company.post(`${path}/batch`, { items: items.slice(0, 1) })).status).to.equal(200)
    })

    it('an account of a sale can be read but not changed through the API [ACCT-3]', async () => {
      const { id } = await accountOfSale(company, side, { external_id: 'a' })
      const shown = await company.get(`${path}/${id}`)
      expect(shown.body.data).to.include({ id, origin: 'sale', sale_id: 1, status: 'pending' })
      expect(idsIn(await company.get(`${path}?origin=sale`))).to.deep.equal([id])
      const before = await revision()
      for (const refused of [
        await patch(id, {}),
        await patch(id, { amount: '1.00' }),
        await remove(id),
        await put('a', body),
        await settle(company, side, id, pix),
        await settle(company, side, id, { ...pix, amount: '1.00' }),
      ]) {
        expect(expectProblem(refused, 409, 'managed_by_pdv')).to.equal(undefined)
      }
      expect(await revision()).to.equal(before)
      expect((await company.get(`${path}/${id}`)).text).to.equal(shown.text)
    })

    it("another company's account looks like a missing one", async () => {
      const theirs = await create({ external_id: 'a' })
      const theirParty = await newParty('Ana', 'p1')
      const mine = await api.company({ idsFrom: FOREIGN_IDS })
      const own = (await mine.post(path, body)).body.data
      const telling = ({ status, text, headers }: Reply, id: number | string) =>
        `${status} ${text.replaceAll(headers.get('x-request-id') ?? '', '').replaceAll(String(id), 'ID')}`
      const asks: ((id: number) => Promise<Reply>)[] = [
        (id) => mine.get(`${path}/${id}`),
        (id) => mine.call('PATCH', `${path}/${id}`, { amount: '1.00' }),
        (id) => mine.call('DELETE', `${path}/${id}`),
        (id) => settle(mine, side, id, pix),
      ]
      for (const ask of asks) {
        const foreign = telling(await ask(theirs.id), theirs.id)
        expect(foreign).to.equal(telling(await ask(MISSING), MISSING))
        expect(foreign).to.match(/^404 /)
      }
      const refer = (id: unknown, field: string) => mine.call('PATCH', `${path}/${own.id}`, { [field]: id })
      for (const [field, foreign, missing] of [
        [byId, theirParty.id, MISSING],
        [byExternalId, 'p1', 'p9'],
      ] as const) {
        const answer = telling(await refer(foreign, field), foreign)
        expect(answer).to.equal(telling(await refer(missing, field), missing))
        expect(answer).to.match(/^422 /)
      }
      for (const query of ['', '/deleted', '?external_id=a', `?${byId}=${theirParty.id}`, `?${byExternalId}=p1`]) {
        const ids = idsIn(await mine.get(path + query))
        expect(ids, query).to.deep.equal(query === '' ? [own.id] : [])
      }
      expect((await mine.call('PUT', `${path}/by-external/a`, body)).status).to.equal(201)
      expect((await company.get(`${path}/${theirs.id}`)).body.data).to.include({ status: 'pending', amount: '100.00' })
    })

    it('requires the scopes of finance [KEY-9]', async () => {
      const calls = [
        ['GET', path, 'read'],
        ['GET', `${path}/1`, 'read'],
        ['GET', `${path}/deleted`, 'read'],
        ['POST', path, 'write'],
        ['POST', `${path}/batch`, 'write'],
        ['POST', `${path}/1/settle`, 'write'],
        ['PUT', `${path}/by-external/a`, 'write'],
        ['PATCH', `${path}/1`, 'write'],
        ['DELETE', `${path}/1`, 'write'],
      ] as const
      const reader = await company.newKey(['finance:read', 'sales:read', 'sales:write'])
      const writer = await company.newKey(['finance:write', 'sales:read', 'sales:write'])
      for (const [method, url, right] of calls) {
        const { key } = right === 'read' ? writer : reader
        const reply = await company.call(method, url, undefined, { authorization: `Bearer ${key}` })
        const details = expectProblem(reply, 403, 'insufficient_scope')
        expect(details).to.deep.equal({ missing_scope: `finance:${right}` })
      }
    })
  })
}
