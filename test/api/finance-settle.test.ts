import { expect } from 'chai'
import { SIDES, settle } from '../support/accounts.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import type { Json, Reply, TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

const body = { description: 'Aluguel', amount: '100.00', due_date: '2020-03-10' }
const pix = { payment_method: 'pix' }

const statuses = (replies: readonly Reply[]) => {
  const counts: Record<number, number> = {}
  for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

for (const side of SIDES) {
  const { path } = side

  describe(`finance: settle of ${path}`, () => {
    const api = useApi()
    let company: TestCompany

    before(async () => {
      company = await api.company()
    })

    const create = async (fields: object = {}): Promise<Json> =>
      (await company.post(path, { ...body, ...fields })).body.data

    it('responds 200 with the settled account, as GET shows it [ACCT-5]', async () => {
      const { id, is_overdue } = await create()
      expect(is_overdue).to.equal(true)
      const reply = await settle(company, side, id, { payment_method: 'bank_slip', amount: '100.00' })
      expect(reply.status).to.equal(200)
      const { paid_at, updated_at, ...rest } = reply.body.data
      const settled_on = updated_at.slice(0, 10)
      expect(rest).to.include({ status: 'settled', payment_method: 'bank_slip', settled_on, is_overdue: false })
      expect(paid_at).to.equal(updated_at)
      expect((await company.get(`${path}/${id}`)).text).to.equal(reply.text)
    })

    it("derives the accounting date from paid_at in the company's zone, and shows paid_at with its offset [VAL-3, ACCT-7]", async () => {
      for (const [paid_at, shown, settled_on] of [
        ['2026-03-11T02:59:59.999Z', '2026-03-10T23:59:59.999-03:00', '2026-03-10'],
        ['2026-03-11T03:00:00Z', '2026-03-11T00:00:00.000-03:00', '2026-03-11'],
        ['2026-03-11T12:00:00+14:00', '2026-03-10T19:00:00.000-03:00', '2026-03-10'],
      ] as const) {
        const { id } = await create()
        const reply = await settle(company, side, id, { ...pix, paid_at })
        expect(reply.body.data).to.include({ paid_at: shown, settled_on })
        const on = `${path}?paid_from=${settled_on}&paid_to=${settled_on}`
        expect((await company.get(on)).body.data.map((record: Json) => record.id)).to.include(id)
      }
    })

    it('requires an Idempotency-Key, also if there is nothing to settle [ACCT-6]', async () => {
      const { id } = await create()
      for (const target of [id, 9_000_001]) {
        expectInvalid(await company.post(`${path}/${target}/settle`, pix), ['Idempotency-Key'])
      }
      const long = { 'idempotency-key': 'x'.repeat(256) }
      expectInvalid(await company.post(`${path}/${id}/settle`, pix, long), ['Idempotency-Key'])
      expect((await settle(company, side, id, pix, 'x'.repeat(255))).status).to.equal(200)
    })

    it('replays under the same key, refuses the key with another body, and refuses a second settlement [ACCT-8]', async () => {
      const { id } = await create()
      const first = await settle(company, side, id, pix, `k-${id}`)
      const again = await settle(company, side, id, pix, `k-${id}`)
      expect(again.text).to.equal(first.text)
      expect(again.headers.get('idempotent-replayed')).to.equal('true')
      const other = await settle(company, side, id, { payment_method: 'cash' }, `k-${id}`)
      expectProblem(other, 409, 'idempotency_key_reuse')
      expectProblem(await settle(company, side, id, pix), 409, 'already_settled')
      expectProblem(await settle(company, side, id, { ...pix, amount: '1.00' }), 409, 'already_settled')
    })

    it('stores no refusal under a key: a corrected request settles [IDEM-4]', async () => {
      const { id } = await create()
      expectInvalid(await settle(company, side, id, { ...pix, amount: '1.00' }, `c-${id}`), ['amount'])
      expect((await settle(company, side, id, { ...pix, amount: '100.00' }, `c-${id}`)).status).to.equal(200)
    })

    it('concurrent with 20 keys: one settlement, 19 refusals [ACCT-9]', async () => {
      const { id } = await create()
      const replies = await Promise.all(Array.from({ length: 20 }, () => settle(company, side, id, pix)))
      expect(statuses(replies)).to.deep.equal({ 200: 1, 409: 19 })
      for (const { status, body } of replies) if (status === 409) expect(body.error.code).to.equal('already_settled')
      const won = replies.find(({ status }) => status === 200)
      expect((await company.get(`${path}/${id}`)).text).to.equal(won?.text)
    })

    it('concurrent 20 times with one key: 20 equal responses [ACCT-9]', async () => {
      const { id } = await create()
      const key = `race-${id}`
      const replies = await Promise.all(Array.from({ length: 20 }, () => settle(company, side, id, pix, key)))
      expect(statuses(replies)).to.deep.equal({ 200: 20 })
      expect(new Set(replies.map(({ text }) => text)).size).to.equal(1)
      expect(replies.filter(({ headers }) => headers.get('idempotent-replayed') === 'true')).to.have.length(19)
    })

    it('concurrent with changes and deletions: settles the current amount, or nothing [ACCT-9]', async () => {
      for (let round = 0; round < 5; round++) {
        const { id } = await create()
        const [changed, removed, settled] = (await Promise.all([
          company.call('PATCH', `${path}/${id}`, { amount: '50.00' }),
          company.call('DELETE', `${path}/${id}`),
          settle(company, side, id, { ...pix, amount: '100.00' }),
        ])) as [Reply, Reply, Reply]
        if (settled.status === 200) {
          expect([changed.status, removed.status]).to.deep.equal([409, 409])
          expect(settled.body.data.amount).to.equal('100.00')
        } else {
          expect(removed.status).to.equal(204)
          expect([changed.status, settled.status]).to.deep.be.oneOf([
            [200, 422],
            [200, 404],
            [404, 404],
          ])
        }
      }
    })
  })
}
