import { expect } from 'chai'
import { updateCompany } from '#commands/company-commands.ts'
import { settleReceivable } from '#commands/receivables-payables.ts'
import { accountOfSale, SIDES, settle } from '../support/accounts.ts'
import { expectInvalid, idsIn } from '../support/answers.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

const pix = { payment_method: 'pix' }

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
