import { expect } from 'chai'
import { endTill } from '#commands/till-commands.ts'
import { deactivateUser } from '#commands/user-commands.ts'
import type { Json, TestCompany } from '../support/api.ts'
import { type ChainedTill, chainTill } from '../support/chained-till.ts'
import { type Counter, openCounter } from '../support/offline-sales.ts'
import { expectFailure, openTill, type TestTill } from '../support/till.ts'
import { useApi } from '../support/use-api.ts'

const MINUTE_MS = 60_000

describe('uploads after the end of access', () => {
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

  const minutes = (n: number) => new Date(Date.now() + n * MINUTE_MS).toISOString()
  const sale = (id: string, created_at: string) => counter.sale(id, { created_at })
  const end = () => company.run(deactivateUser, { id: till.user.id })
  const codes = ({ warnings = [] }: Json): string[] => warnings.map(({ code }: Json) => code)
  const upload = async (sales: readonly unknown[]): Promise<Json[]> => {
    const reply = await till.post('/sync/sales', { sales })
    expect(reply.status, reply.text).to.equal(200)
    return reply.body.results
  }
  const countSales = async () => (await company.get('/sales?limit=100')).body.data.length

  it('are taken if a till has signed all of it, and its user stays the seller [TILL-1320]', async () => {
    const [before, after] = [await chain.next(sale('a', minutes(-5))), await chain.next(sale('b', minutes(2)))]
    await end()
    const results = await upload([before, after])
    expect(results.map(({ status }) => status)).to.deep.equal(['created', 'created'])
    expect(results.map(codes)).to.deep.equal([[], ['access_ended']])
    const { data } = (await company.get(`/sales/${results[1]?.sale_id}`)).body
    expect(data.seller).to.include({ user_id: till.user.id })
    const again = await upload([before, after])
    expect(again.map(({ status, sale_id }) => [status, sale_id])).to.deep.equal(
      results.map(({ sale_id }) => ['duplicate', sale_id]),
    )
    expect((await company.get('/tills')).body.data[0].last_number).to.equal(2)
  })

  it('keep returns, movements and cancellations made after it for a person [TILL-1321]', async () => {
    const [first] = await upload([await chain.next(sale('a', minutes(-5)))])
    const returned = (offline_id: string, returned_at: string) =>
      chain.next({
        ...{ offline_id, sale_id: first?.sale_id, reason: 'Troca', returned_at },
        ...{ items: [{ line: 0, quantity: 1 }], refunds: [{ payment_type_id: counter.cash, amount: 10 }] },
      })
    const moved = (offline_id: string, at: string) =>
      chain.next({ offline_id, session_id: 'g', kind: 'opened', amount: 50, at })
    const movements = [await moved('m1', minutes(2)), await moved('m2', minutes(-4))]
    const cancelled = await chain.next({ ...sale('a', minutes(-5)), status: 'cancelled', cancelled_at: minutes(2) })
    const returns = [await returned('r1', minutes(2)), await returned('r2', minutes(-3))]
    await end()
    const drawer = (await till.post('/sync/cash', { movements })).body.results
    expect(drawer.map(({ status, code }: Json) => code ?? status)).to.deep.equal(['access_ended', 'created'])
    expect(drawer[0].status).to.equal('refused')
    const [refused] = await upload([cancelled])
    expect(refused).to.include({ status: 'error', code: 'permission_required' })
    const back = (await till.post('/sync/returns', { returns })).body.results
    expect(back.map(({ status, code }: Json) => code ?? status)).to.deep.equal(['access_ended', 'created'])
    expect(back[0].status).to.equal('refused')
    const again = (await till.post('/sync/cash', { movements })).body.results
    expect(again.map(({ status }: Json) => status)).to.deep.equal(['refused', 'duplicate'])
    expect((await company.get('/sales?limit=1')).body.data[0].status).to.equal('completed')
    expect((await company.get('/tills')).body.data[0].missing).to.deep.equal([])
  })

  it('are late from the last number that the till named on, whatever its clock says [TILL-1320]', async () => {
    const [known, later] = [await chain.next(sale('a', minutes(-5))), await chain.next(sale('b', minutes(-4)))]
    await till.call('GET', '/sync/status', undefined, { till: `${chain.id}/1` })
    await end()
    // The till was in touch before the end: its later number may be of before it.
    expect((await upload([known, later])).map(codes)).to.deep.equal([[], []])
    const other = await chainTill(await openTill(api.url, company))
    const late = await other.next(sale('c', minutes(-4)))
    const seen = await openTill(api.url, company)
    await seen.call('GET', '/sync/status', undefined, { till: `${other.id}/0` })
    expect((await upload([late])).map(codes)).to.deep.equal([['access_ended']])
  })

  it('are refused whole if one element is not signed by a living till of the company [TILL-1322]', async () => {
    const [one, two] = [await chain.next(sale('a', minutes(-5))), await chain.next(sale('b', minutes(-4)))]
    const other = await api.company()
    const stranger = await chainTill(await openTill(api.url, other))
    const foreign = await stranger.next(sale('c', minutes(-4)))
    await end()
    const forged = { ...two, total: 11 }
    const uploads = [[one, sale('d', minutes(-4))], [one, foreign], [one, forged], [], [one, 'x'], undefined]
    for (const sales of uploads) expectFailure(await till.post('/sync/sales', { sales }), 401)
    for (const path of ['/sync/status', '/sync/products', '/sync/customers', '/auth/user'])
      expectFailure(await till.get(path), 401)
    expectFailure(await till.post('/sync/items', { items: [{ offline_id: 'p', name: 'Bolo', price: 1 }] }), 401)
    await company.run(endTill, { id: chain.id })
    expectFailure(await till.post('/sync/sales', { sales: [one] }), 401)
    expect(await countSales()).to.equal(0)
  })

  it('are taken for 30 days, however it ended [TILL-1322]', async () => {
    const sales = [await chain.next(sale('a', minutes(-5)))]
    await till.post('/auth/logout')
    const age = (days: number) =>
      api.core.pool.query(
        'update ops.sync_tokens set revoked_at = clock_timestamp() - make_interval(days => $2) where company_id = $1',
        [company.id, days],
      )
    await age(31)
    expectFailure(await till.post('/sync/sales', { sales }), 401)
    await age(29)
    expect((await upload(sales)).map(({ status }) => status)).to.deep.equal(['created'])
  })
})
