import { expect } from 'chai'
import { SIDES, settle } from '../support/accounts.ts'
import { expectInvalid } from '../support/answers.ts'
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

    it('requires an Idempotency-Key, also if there is nothing to settle [ACCT-6]', async () => {
      const { id } = await create()
      for (const target of [id, 9_000_001]) {
        expectInvalid(await company.post(`${path}/${target}/settle`, pix), ['Idempotency-Key'])
      }
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
