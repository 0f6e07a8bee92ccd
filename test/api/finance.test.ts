import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import { settleReceivable } from '#commands/receivables-payables.ts'
import { accountOfSale, SIDES, settle } from '../support/accounts.ts'
import { expectInvalid, expectProblem, idsIn, LOCAL_TIME, recordText } from '../support/answers.ts'
import type { Json, Reply, TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

const body = { description: 'Aluguel', amount: '100.00', due_date: '2099-03-10' }
const pix = { payment_method: 'pix' }

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
  })
}

describe('finance: lists', () => {
  /** Clock of the calls. */
  let now: string | null = null
  const api = useApi({ now: () => now ?? new Date().toISOString() })

  for (const side of SIDES) {
    const { path, party, parties } = side

    describe(`of ${path}`, () => {
      let company: TestCompany

      beforeEach(async () => {
        now = null
        company = await api.company()
      })

      const create = async (fields: object = {}, of = company): Promise<number> => {
        const body = { description: 'Aluguel', amount: '100.00', due_date: '2026-03-10', ...fields }
        const reply = await of.post(path, body)
        expect(reply.status, reply.text).to.equal(201)
        return reply.body.data.id
      }
      const ids = async (query: string, of = company) => idsIn(await of.get(`${path}?${query}`))

      it('filters by status; overdue accounts are among pending ones [ACCT-4]', async () => {
        now = '2026-03-20T12:00:00.000Z'
        const late = await create()
        const later = await create({ due_date: '2026-03-30' })
        const paid = await create()
        await settle(company, side, paid, pix)
        expect(await ids('status=pending')).to.deep.equal([late, later])
        expect(await ids('status=overdue')).to.deep.equal([late])
        expect(await ids('status=settled')).to.deep.equal([paid])
        const shown = (await company.get(path)).body.data
        expect(shown.map((record: Json) => record.is_overdue)).to.deep.equal([true, false, false])
      })

      it('filters by counterparty, by its id or its current external id', async () => {
        const { id } = (await company.post(parties, { name: 'Ana', external_id: 'p1' })).body.data
        await company.post(parties, { name: 'Bia', external_id: 'p2' })
        const account = await create({ [`${party}_external_id`]: 'p1' })
        await create({ [`${party}_external_id`]: 'p2' })
        await create()
        expect(await ids(`${party}_id=${id}`)).to.deep.equal([account])
        expect(await ids(`${party}_external_id=p1`)).to.deep.equal([account])
        expect(await ids(`${party}_external_id=p3`)).to.deep.equal([])
        await company.call('PATCH', `${parties}/${id}`, { external_id: 'p3', name: 'Ana Lima' })
        expect(await ids(`${party}_external_id=p3`)).to.deep.equal([account])
        expect(await ids(`${party}_external_id=p1`)).to.deep.equal([])
        const shown = (await company.get(`${path}/${account}`)).body.data
        expect(shown).to.include({ [`${party}_external_id`]: 'p1', [`${party}_name`]: 'Ana' })
      })

      it('filters by due date, accounting date, origin and external id, all together [LIST-7]', async () => {
        const first = await create({ due_date: '2026-03-09', external_id: 'a' })
        const second = await create({ due_date: '2026-03-10' })
        const third = await create({ due_date: '2026-03-11' })
        const ofSale = (await accountOfSale(company, side)).id
        expect(await ids('due_from=2026-03-10')).to.deep.equal([second, third, ofSale])
        expect(await ids('due_to=2026-03-10')).to.deep.equal([first, second, ofSale])
        expect(await ids('due_from=2026-03-10&due_to=2026-03-10&origin=api')).to.deep.equal([second])
        expect(await ids('due_from=2026-03-11&due_to=2026-03-10')).to.deep.equal([])
        expect(await ids('origin=sale')).to.deep.equal([ofSale])
        expect(await ids('origin=pdv')).to.deep.equal([])
        expect(await ids('external_id=a&status=pending')).to.deep.equal([first])
        await settle(company, side, first, { ...pix, paid_at: '2026-03-12T02:59:59Z' })
        await settle(company, side, third, { ...pix, paid_at: '2026-03-12T03:00:00Z' })
        expect(await ids('paid_from=2026-03-11')).to.deep.equal([first, third])
        expect(await ids('paid_from=2026-03-12')).to.deep.equal([third])
        expect(await ids('paid_to=2026-03-11')).to.deep.equal([first])
        expect(await ids('status=settled&external_id=a&paid_to=2026-03-12')).to.deep.equal([first])
      })

      it('refuses invalid filters', async () => {
        expectInvalid(await company.get(`${path}?status=paid`), ['status'])
        expectInvalid(await company.get(`${path}?origin=system`), ['origin'])
        expectInvalid(await company.get(`${path}?due_from=2026-02-30&paid_to=hoje`), ['due_from', 'paid_to'])
        expectInvalid(await company.get(`${path}?${party}_id=x&status=pending&status=settled`), [
          `${party}_id`,
          'status',
        ])
        const [other] = SIDES.filter((each) => each.party !== party)
        expectInvalid(await company.get(`${path}?${other?.party}_id=1`), [], [`${other?.party}_id`])
      })

      it('lists changes since an instant, settlements included, in the order of change', async () => {
        const [first, second] = [await create(), await create()]
        const { synced_at } = (await company.get(path)).body.meta
        await settle(company, side, second, pix)
        await company.call('PATCH', `${path}/${first}`, { amount: '1.00' })
        const since = encodeURIComponent(synced_at)
        const changed = idsIn(await company.get(`${path}?updated_since=${since}`))
        expect(changed.slice(-2)).to.deep.equal([second, first])
        expect(await ids(`updated_since=${since}&status=settled`)).to.deep.equal([second])
      })

      it("become overdue after the due day in the company's zone, in lists and by id [ACCT-4]", async () => {
        for (const [timezone, last, first] of [
          ['America/Sao_Paulo', '2026-03-11T02:59:59.999Z', '2026-03-11T03:00:00.000Z'],
          ['Pacific/Kiritimati', '2026-03-10T09:59:59.999Z', '2026-03-10T10:00:00.000Z'],
          ['Pacific/Pago_Pago', '2026-03-11T10:59:59.999Z', '2026-03-11T11:00:00.000Z'],
        ] as const) {
          const of = await api.company({ timezone })
          const id = await create({}, of)
          const overdue = async () => (await of.get(`${path}/${id}`)).body.data.is_overdue
          now = last
          expect(await overdue(), last).to.equal(false)
          expect(await ids('status=overdue', of)).to.deep.equal([])
          const before = (await of.get(path)).headers.get('x-ledger-revision')
          now = first
          expect(await overdue(), first).to.equal(true)
          expect(await ids('status=overdue', of)).to.deep.equal([id])
          // The day changed, but not the ledger.
          expect((await of.get(path)).headers.get('x-ledger-revision')).to.equal(before)
        }
      })

      it('agree with responses to commands, which use the database clock', async () => {
        // These two zones are always on different days.
        const [east, west] = [
          await api.company({ timezone: 'Pacific/Kiritimati' }),
          await api.company({ timezone: 'Pacific/Pago_Pago' }),
        ]
        const today = (timezone: string) => new Intl.DateTimeFormat('sv-SE', { timeZone: timezone }).format(new Date())
        const due_date = today('Pacific/Pago_Pago')
        for (const [of, is_overdue] of [
          [east, true],
          [west, false],
        ] as const) {
          const reply = await of.post(path, { description: 'x', amount: '1.00', due_date })
          // Unless midnight passed meanwhile.
          if (due_date !== today('Pacific/Pago_Pago')) return
          expect(reply.body.data.is_overdue).to.equal(is_overdue)
          expect((await of.get(`${path}/${reply.body.data.id}`)).text).to.equal(reply.text)
          expect(idsIn(await of.get(`${path}?status=overdue`))).to.have.length(is_overdue ? 1 : 0)
        }
      })

      it('pages through overdue accounts past midnight with the same cursor', async () => {
        now = '2026-03-11T02:59:00.000Z'
        const due = ['2026-03-08', '2026-03-10', '2026-03-09']
        const [first, tomorrow, third] = [
          await create({ due_date: due[0] }),
          await create({ due_date: due[1] }),
          await create({ due_date: due[2] }),
        ]
        const page = await company.get(`${path}?status=overdue&limit=1`)
        expect(idsIn(page)).to.deep.equal([first])
        now = '2026-03-11T03:00:00.000Z'
        const rest = await company.get(`${path}?status=overdue&limit=5&cursor=${page.body.meta.next_cursor}`)
        expect(idsIn(rest)).to.deep.equal([tomorrow, third])
        expectInvalid(await company.get(`${path}?status=pending&cursor=${page.body.meta.next_cursor}`), ['cursor'])
      })
    })
  }
})

describe('finance: a company that changes its time zone', () => {
  const api = useApi()

  it('keeps the accounting dates of its books', async () => {
    const company = await api.company()
    const body = { description: 'x', amount: '1.00', due_date: '2026-03-10' }
    const { id } = (await company.post('/finance/receivables', body)).body.data
    await company.run(settleReceivable, { id, payment_method: 'pix', paid_at: '2026-03-11T02:00:00.000Z' }, 'pdv')
    await company.run(updateCompany, { timezone: 'Asia/Tokyo' })
    const on = (day: string) => company.get(`/finance/receivables?paid_from=${day}&paid_to=${day}`)
    expect(idsIn(await on('2026-03-10'))).to.deep.equal([id])
    expect(idsIn(await on('2026-03-11'))).to.deep.equal([])
    const summary = (await company.get('/finance/summary?from=2026-03-10&to=2026-03-10')).body.data
    expect(summary.receivables.settled).to.deep.equal({ count: 1, amount: '1.00' })
  })
})

describe('finance: payments of accounts', () => {
  const body = { description: 'Aluguel', amount: '100.00', due_date: '2030-03-10' }

  const api = useApi()
  let company: TestCompany
  let keys = 0

  before(async () => {
    company = await api.company()
  })

  const pay = (path: string, id: number, payment: object, key = `pagamento-${++keys}`) =>
    company.post(`${path}/${id}/payments`, payment, { 'idempotency-key': key })

  for (const side of SIDES) {
    const { path } = side
    const create = async (fields: object = {}): Promise<Json> =>
      (await company.post(path, { ...body, ...fields })).body.data

    it(`answer 201 with the account of ${path}, as GET shows it [ACCT-100]`, async () => {
      const { id, open_amount, payments } = await create()
      expect([open_amount, payments]).to.deep.equal(['100.00', []])
      const reply = await pay(path, id, { amount: '40.00', interest: '1.00', payment_method: 'Carnê' })
      expect(reply.status, reply.text).to.equal(201)
      expect(reply.headers.get('location')).to.equal(`/api/v1${path}/${id}`)
      const { data } = reply.body
      expect(data).to.include({ id, status: 'pending', paid_amount: '40.00', open_amount: '60.00', paid_at: null })
      expect(data.payments[0]).to.include({
        kind: 'payment',
        received: '41.00',
        payment_method: 'Carnê',
        reversed_at: null,
      })
      expect((await company.get(`${path}/${id}`)).text).to.equal(reply.text)
      const settled = await settle(company, side, id, { payment_method: 'pix', amount: '60.00' })
      expect(settled.body.data).to.include({ status: 'settled', open_amount: '0.00', payment_method: 'pix' })
    })

    it(`of ${path} need a key, and are made once under it [ACCT-100] [IDEM-1]`, async () => {
      const { id } = await create()
      const without = await company.post(`${path}/${id}/payments`, { amount: '1.00' })
      expectInvalid(without, ['Idempotency-Key'])
      const first = await pay(path, id, { amount: '1.00' }, `uma-vez-${path}`)
      const second = await pay(path, id, { amount: '1.00' }, `uma-vez-${path}`)
      expect([second.status, second.text]).to.deep.equal([201, first.text])
      expectProblem(await pay(path, id, { amount: '2.00' }, `uma-vez-${path}`), 409, 'idempotency_key_reuse')
      expect((await company.get(`${path}/${id}`)).body.data.payments).to.have.length(1)
    })

    it(`instalments of ${path} are listed by their group [ACCT-107]`, async () => {
      const installments = { count: 3, first_due_date: '2026-01-31', interval: 'month' }
      const { due_date: _, ...undated } = body
      const reply = await company.post(path, { ...undated, installments })
      expect(reply.status, reply.text).to.equal(201)
      const { id, installment } = reply.body.data
      expect(installment).to.deep.equal({ group: id, number: 1, count: 3 })
      const { data } = (await company.get(`${path}?installment_group=${id}`)).body
      expect(data.map((each: Json) => [each.amount, each.due_date])).to.deep.equal([
        ['33.34', '2026-01-31'],
        ['33.33', '2026-02-28'],
        ['33.33', '2026-03-31'],
      ])
    })
  }
})

const plainAccountBody = { description: 'Aluguel', amount: '100.00', due_date: '2020-03-10' }

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
      (await company.post(path, { ...plainAccountBody, ...fields })).body.data

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

    it('requires an Idempotency-Key, also if there is nothing to settle [IDEM-1]', async () => {
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
          // The deletion came last, between the two, or first.
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
