import { expect } from 'chai'
import { SIDES, settle } from '../support/accounts.ts'
import { expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
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
    const newParty = async (name: string, external_id?: string): Promise<Json> =>
      (await company.post(side.parties, { name, external_id })).body.data

    it('POST creates with all fields, with equal bytes in POST, GET and list', async () => {
      const ana = await newParty('Ana "Aspas" \\ \u2028', 'p1')
      const reply = await company.post(path, { ...body, external_id: 'a', [byExternalId]: 'p1' })
      expect(reply.status).to.equal(201)
      const { id, created_at, updated_at, ...rest } = reply.body.data
      expect(rest).to.deep.equal({
        ...body,
        metadata: null,
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

    it('DELETE responds 204, hides the account, and adds it to the list of deleted records [LIST-6]', async () => {
      const { id } = await create({ external_id: 'a' })
      const reply = await company.call('DELETE', `${path}/${id}`)
      expect([reply.status, reply.text]).to.deep.equal([204, ''])
      expectProblem(await company.get(`${path}/${id}`), 404, 'not_found')
      expect(idsIn(await company.get(path))).to.deep.equal([])
      const [gone] = (await company.get(`${path}/deleted`)).body.data
      expect(gone).to.have.all.keys('id', 'external_id', 'deleted_at')
      expect(gone).to.include({ id, external_id: 'a' })
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
  })
}
