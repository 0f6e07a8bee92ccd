import { expect } from 'chai'
import fc from 'fast-check'
import { CancelSaleInput, cancelSale } from '#commands/cancel-sale.ts'
import { fromCents } from '#domain/money.ts'
import { getCashSessionDetails } from '#queries/cash-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { expectProblem } from '../support/answers.ts'
import { FOREIGN_IDS, type Json, type TestCompany } from '../support/api.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { panelUser, textIn, userWithBrowser } from '../support/panel.ts'
import { explore } from '../support/random.ts'
import { createTestUser, openTill, type TestTill } from '../support/till.ts'
import { OWN_DATABASE, useApi } from '../support/use-api.ts'

describe('POST /api/sync/cash', () => {
  const api = useApi(OWN_DATABASE)
  let company: TestCompany
  let till: TestTill
  let counter: Counter

  beforeEach(async () => {
    company = await api.company()
    till = await openTill(api.url, company)
    counter = await openCounter(company)
  })

  let made = 0
  const at = new Date().toISOString()
  const movement = (kind: string, fields: object = {}) => ({
    ...{ offline_id: `m${++made}`, session_id: 's1', kind, at },
    amount: kind === 'closed' ? null : 10,
    ...fields,
  })

  async function send(movements: readonly unknown[], from = till): Promise<Json> {
    const reply = await from.post('/sync/cash', { movements })
    expect(reply.status, reply.text).to.equal(200)
    return reply.body
  }
  const session = async (id = 's1'): Promise<Json> =>
    (await company.get(`/cash-sessions?session_id=${id}`)).body.data[0]

  it('records each movement, and one bad one blocks none [UP-1]', async () => {
    const [opened, bad, out] = [movement('opened'), movement('in', { amount: -1 }), movement('out', { amount: 4 })]
    expect(await send([opened, bad, out])).to.deep.equal({
      success: true,
      message: '3 movimentos processados: 2 registrados, 1 com erro.',
      summary: { total_processed: 3, success_count: 2, error_count: 1 },
      results: [
        { offline_id: opened.offline_id, session_id: 's1', status: 'created' },
        {
          ...{ offline_id: bad.offline_id, session_id: 's1', status: 'error', code: 'validation_failed' },
          message: 'O movimento tem dados inválidos e não foi registrado.',
          errors: { amount: ['deve ser um número de 0 a 9999999999.99 com até duas casas decimais'] },
        },
        { offline_id: out.offline_id, session_id: 's1', status: 'created' },
      ],
    })
    expect(await session()).to.include({ status: 'open', expected: '6.00', opened_by_user_id: till.user.id })
  })

  it('records a closing whose count names nothing as one that was not counted [CASH-7]', async () => {
    const { results } = await send([movement('opened'), movement('closed', { counted: {} }), movement('in')])
    expect(results.map(({ status }: Json) => status)).to.deep.equal(['created', 'created', 'created'])
    expect(await session()).to.include({ status: 'closed', counted: null, difference: null })
  })

  it('answers a repeated upload with duplicates, and records nothing [CASH-4]', async () => {
    const movements = [movement('opened'), movement('out'), movement('closed', { counted: { cash: 0 } })]
    await send(movements)
    const second = await openTill(api.url, company)
    const revision = (await company.get('/me')).headers.get('x-ledger-revision')
    const again = await send(movements, second)
    expect(again.message).to.equal('3 movimentos processados: 0 registrados, 3 já enviados antes, 0 com erro.')
    expect(again.results.map(({ status }: Json) => status)).to.deep.equal(Array(3).fill('duplicate'))
    expect((await company.get('/me')).headers.get('x-ledger-revision')).to.equal(revision)
  })

  it('refuses a second opening, a second closing and other content [CASH-4, CASH-5]', async () => {
    const opened = movement('opened')
    const { results } = await send([
      ...[opened, movement('opened'), { ...opened, amount: 11 }],
      ...[movement('closed'), movement('closed'), movement('in')],
    ])
    expect(results.map(({ status, code, warnings }: Json) => code ?? warnings?.[0].code ?? status)).to.deep.equal([
      ...['created', 'session_open', 'duplicate_resource', 'created', 'session_closed', 'session_closed'],
    ])
    expect(results.at(-1).status).to.equal('created')
  })

  it('refuses each element that is no movement [UP-1]', async () => {
    const odd = await send([null, 'x', { offline_id: {}, kind: 'opened' }])
    expect(odd.summary.error_count).to.equal(3)
  })

  it('sums sales, change, cancellations and accounts, by payment type [CASH-10]', async () => {
    const card = await company.paymentType('card')
    const { id: receivable_id } = (
      await company.post('/finance/receivables', { description: 'Fiado', amount: '25.00', due_date: '2026-04-01' })
    ).body.data
    const of = { cash_session_id: 's1' }
    const byCard = [{ payment_type_id: card, amount: 10, status: 'completed' }]
    await upload(till, [
      counter.sale('a', { ...of, amount_received: 50, change: 40 }),
      counter.sale('b', { ...of, payments: byCard }),
      counter.sale('c', of),
      counter.sale('d', { ...of, status: 'cancelled' }),
      counter.sale('e'),
    ])
    await upload(till, [counter.sale('c', { ...of, status: 'cancelled' })])
    expect(await session()).to.equal(undefined)
    await send([
      movement('received', { amount: 25, receivable_id }),
      movement('out', { amount: 30 }),
      movement('opened', { amount: 100 }),
      movement('closed', { counted: { cash: 104, [card]: 10 } }),
    ])
    const shown = await session()
    expect(shown).to.deep.include({
      ...{ status: 'closed', sales_count: 2, changed_after_close: false },
      ...{ expected: '105.00', counted: '104.00', difference: '-1.00' },
      cash: {
        ...{ opening: '100.00', sales: '10.00', received: '25.00', in: '0.00', out: '30.00' },
        ...{ returned: '0.00', cancelled: '0.00' },
      },
      by_payment_type: [
        { payment_type_id: counter.cash, is_cash: true, expected: '105.00', counted: '104.00', difference: '-1.00' },
        { payment_type_id: card, is_cash: false, expected: '10.00', counted: '10.00', difference: '0.00' },
      ],
    })
    expect((await company.get(`/cash-sessions/${shown.id}`)).body.data).to.deep.equal(shown)
    const settled = (await company.get(`/finance/receivables/${receivable_id}`)).body.data
    expect(settled).to.include({ status: 'settled', payment_method: 'cash' })
    const sales = (await company.get('/sales?cash_session_id=s1')).body.data
    expect(sales.map(({ offline_id }: Json) => offline_id)).to.deep.equal(['a', 'b', 'c', 'd'])
    expect(sales[0].cash_session_id).to.equal('s1')
  })

  it('loses a receipt that is reversed before the closing, and keeps one that is reversed later [CASH-13]', async () => {
    const account = async (): Promise<number> => {
      const fields = { description: 'Fiado', amount: '25.00', due_date: '2026-04-01' }
      return (await company.post('/finance/receivables', fields)).body.data.id
    }
    const reverse = async (id: number) => {
      const [{ id: payment, cash_session_id }] = (await company.get(`/finance/receivables/${id}`)).body.data.payments
      expect(cash_session_id).to.equal('s1')
      const path = `/finance/receivables/${id}/payments/${payment}/reverse`
      expect((await company.post(path, { reason: 'Engano' })).status).to.equal(200)
    }
    const [first, second] = [await account(), await account()]
    const receipts = [first, second].map((receivable_id) => movement('received', { amount: 25, receivable_id }))
    await send([movement('opened'), ...receipts])
    expect(await session()).to.include({ expected: '60.00' })
    const { synced_at } = (await company.get('/cash-sessions')).body.meta
    await reverse(first)
    const { data } = (await company.get(`/cash-sessions?updated_since=${encodeURIComponent(synced_at)}`)).body
    expect(data[0]).to.include({ expected: '35.00' })
    expect(data[0].cash).to.include({ opening: '10.00', received: '25.00', out: '0.00' })
    await send([movement('closed', { counted: { cash: 35 } })])
    await reverse(second)
    expect(await session()).to.include({ expected: '35.00', difference: '0.00', changed_after_close: false })
    const { movements } = await getCashSessionDetails(fullReader(api.core.pool, company.id), 's1')
    const reversed = movements.filter(({ kind }) => kind === 'reversed')
    expect(reversed.map(({ amount, receivable_id }) => [amount, receivable_id])).to.deep.equal([['-25.00', first]])
  })

  it('takes late sales into a closed session, which says so and is listed as changed [CASH-6]', async () => {
    await send([movement('opened'), movement('closed', { counted: { cash: 10 } })])
    const before = await session()
    expect(before).to.include({ difference: '0.00', changed_after_close: false })
    const { synced_at } = (await company.get('/cash-sessions')).body.meta
    await upload(till, [counter.sale('a', { cash_session_id: 's1' }), counter.sale('b')])
    const { data } = (await company.get(`/cash-sessions?updated_since=${encodeURIComponent(synced_at)}`)).body
    expect(data).to.deep.equal([await session()])
    expect(data[0]).to.include({ expected: '20.00', difference: '-10.00', changed_after_close: true })
    expect(data[0].updated_at > before.updated_at).to.equal(true)
  })

  it('takes the money of a sale that is cancelled after the closing out of the open session [CASH-9]', async () => {
    await upload(till, [counter.sale('a', { cash_session_id: 's1' })])
    await send([
      movement('opened'),
      movement('closed', { counted: { cash: 20 } }),
      movement('opened', { session_id: 's2' }),
    ])
    await upload(till, [counter.sale('a', { cash_session_id: 's1', status: 'cancelled' })])
    expect(await session()).to.include({ expected: '20.00', difference: '0.00', changed_after_close: false })
    const second = await session('s2')
    expect(second).to.include({ expected: '0.00', sales_count: 0 })
    expect(second.cash).to.include({ opening: '10.00', cancelled: '10.00' })
  })

  describe('with a cancellation that states how the money went back', () => {
    const of = { cash_session_id: 's1' }
    const cancel = async (n: number, refunds: readonly object[]) => {
      const { data } = (await company.get('/sales?cash_session_id=s1')).body
      const input = { id: data[n].id, reason: null, refunds: [...refunds] }
      const answer = await company.run(cancelSale, CancelSaleInput.parse(input), 'panel')
      expect(answer).not.to.have.property('refused')
    }
    let card: number
    beforeEach(async () => {
      card = await company.paymentType('card')
    })
    const byCard = () => [{ payment_type_id: card, amount: 10, status: 'completed' }]
    const expectedByType = async (id?: string) =>
      (await session(id)).by_payment_type.map(({ payment_type_id, expected }: Json) => [payment_type_id, expected])

    it('takes the cash of a sale by card out of the drawer, and leaves its card money [CASH-9]', async () => {
      await upload(till, [counter.sale('a', { ...of, payments: byCard() }), counter.sale('b', of)])
      await send([movement('opened', { amount: 50 })])
      await cancel(0, [{ payment_type_id: counter.cash, amount: '10.00' }])
      expect((await session()).cash).to.include({ sales: '10.00', cancelled: '10.00' })
      expect(await expectedByType()).to.deep.equal([
        [counter.cash, '50.00'],
        [card, '10.00'],
      ])
      expect(await session()).to.include({ sales_count: 1 })
    })

    it('leaves the cash of a sale whose money went back by card [CASH-9]', async () => {
      await upload(till, [counter.sale('a', of)])
      await send([movement('opened', { amount: 50 })])
      await cancel(0, [{ payment_type_id: card, amount: '10.00' }])
      expect(await expectedByType()).to.deep.equal([
        [counter.cash, '60.00'],
        [card, '-10.00'],
      ])
    })

    it('counts a sale that went back as it was paid as none [CASH-9]', async () => {
      await upload(till, [counter.sale('a', of)])
      await send([movement('opened', { amount: 50 })])
      await cancel(0, [{ payment_type_id: counter.cash, amount: '10.00' }])
      expect((await session()).cash).to.include({ opening: '50.00', sales: '0.00', cancelled: '0.00' })
    })

    it('counts a sale on credit, whose account is deleted, as none [CASH-9]', async () => {
      const credit = await company.paymentType('credit_account')
      const payments = [{ payment_type_id: credit, amount: 10, status: 'completed' }]
      await upload(till, [counter.sale('a', { ...of, payments })])
      await send([movement('opened', { amount: 50 })])
      await cancel(0, [])
      expect(await expectedByType()).to.deep.equal([[counter.cash, '50.00']])
    })
  })

  it('takes returns out of the session that they name, also late ones [CASH-10, CASH-6]', async () => {
    await upload(till, [counter.sale('a', { cash_session_id: 's1' })])
    await send([
      movement('opened', { session_id: 's2' }),
      movement('closed', { session_id: 's2', counted: { cash: 6 } }),
    ])
    const returned = {
      ...{ offline_id: 'd1', sale_offline_id: 'a', reason: 'Rasgado', returned_at: '2026-03-10T15:00:00.000Z' },
      items: [{ line: 0, quantity: 0.4 }],
      refunds: [{ payment_type_id: counter.cash, amount: 4 }],
      cash_session_id: 's2',
    }
    const reply = await till.post('/sync/returns', { returns: [returned] })
    expect(reply.body.summary, reply.text).to.include({ success_count: 1 })
    const second = await session('s2')
    expect(second).to.include({ expected: '6.00', difference: '0.00', changed_after_close: true })
    expect(second.cash).to.include({ opening: '10.00', returned: '4.00' })
  })

  it('takes a return that waits for its sale out of the session, once [CASH-10, UP-101]', async () => {
    const returned = {
      ...{ offline_id: 'd1', sale_offline_id: 'a', reason: 'Rasgado', returned_at: '2026-03-10T15:00:00.000Z' },
      items: [{ line: 0, quantity: 0.4 }],
      refunds: [{ payment_type_id: counter.cash, amount: 4 }],
      cash_session_id: 's1',
    }
    const reply = await till.post('/sync/returns', { returns: [returned] })
    expect(reply.body.results[0], reply.text).to.include({ status: 'created', awaits_sale: true })
    await send([movement('opened'), movement('closed', { counted: { cash: 6 } })])
    expect(await session()).to.include({ expected: '6.00', difference: '0.00' })
    await upload(till, [counter.sale('a')])
    expect(await session()).to.include({ expected: '6.00', difference: '0.00' })
    expect((await session()).cash).to.include({ opening: '10.00', returned: '4.00' })
  })

  it('sums amounts beyond what JavaScript counts [CASH-10]', async () => {
    const most = 9_999_999_999.99
    const huge = (id: string) =>
      counter.sale(id, {
        ...{ cash_session_id: 's1', total: most, amount_received: most, change: 0 },
        items: [{ product_id: counter.product, quantity: 1, price: most, total: most }],
        payments: [{ payment_type_id: counter.cash, amount: most, status: 'completed' }],
      })
    await upload(till, [huge('a'), huge('b')])
    await send([movement('in', { amount: most }), movement('closed', { counted: { cash: most } })])
    expect(await session()).to.include({ expected: '29999999999.97', difference: '-19999999999.98' })
    const [refused] = (await send([movement('in')])).results
    expect(refused).to.deep.include({ code: 'validation_failed', errors: { amount: ['a soma é grande demais'] } })
  })

  it('keeps movements of another drawer until a person decides [CASH-1000] [CASH-1001]', async () => {
    const account = await createTestUser(company, 'clerk')
    const seller = userWithBrowser(api.url, account)
    await seller.logIn()
    const clerk = await openTill(api.url, company, account)
    await send([movement('opened')])
    const [out, closed, loss] = [movement('out', { amount: 4 }), movement('closed'), movement('out')]
    const [kept] = (await send([out, closed, loss], clerk)).results
    expect(kept).to.include({ status: 'refused', code: 'session_of_other' })
    expect(await session()).to.include({ expected: '10.00', status: 'open' })
    const user = await panelUser(api, company)
    const tills = (await user.get('/painel/caixas')).html
    expect(textIn(tills)).to.include('Caixas 3 envios recusados')
    expect(textIn((await user.get('/painel')).html)).to.include('3 movimentos recusados para resolver')
    for (const path of ['/painel', '/painel/caixas'])
      expect(textIn((await seller.get(path)).html), path).to.not.include('recusado')
    const paths = [...tills.matchAll(/href="(\/painel\/caixas\/movimentos-recusados\/\d+)"/g)].map(([, path]) => path)
    const [outPath = '', closedPath = '', lossPath = ''] = paths
    expect(textIn((await user.get(outPath)).html))
      .to.include(`Gaveta de ${till.user.name}`)
      .and.include('R$ 4,00')
    expect((await user.submit(`${outPath}/registrar`, { session_id: 's1' })).status).to.equal(303)
    expect((await user.submit(`${closedPath}/registrar`, { session_id: 's7' })).status).to.equal(422)
    expect((await user.submit(`${closedPath}/registrar`, { session_id: 's1' })).status).to.equal(303)
    expect((await user.submit(`${lossPath}/resolver`, { note: 'Não houve' })).status).to.equal(303)
    expect(await session()).to.include({ expected: '6.00', status: 'closed', closed_by_user_id: till.user.id })
    const again = await send([out, closed, loss], clerk)
    expect(again.results.map(({ status }: Json) => status)).to.deep.equal(['duplicate', 'duplicate', 'resolved'])
    expect((await user.get('/painel/caixas')).html).not.to.include('Movimentos recusados')
    for (const path of [outPath, `${outPath}/registrar`]) expect((await seller.get(path)).status).to.equal(403)
  })

  it('announces a closing as GET shows it, by name', async () => {
    await company.post('/webhooks', { url: 'https://erp.example/gancho', events: ['cash_session.closed'] })
    await upload(till, [counter.sale('a', { cash_session_id: 's1' })])
    await send([movement('opened'), movement('out', { amount: 3 }), movement('closed', { counted: { cash: 17 } })])
    const { rows } = await api.core.pool.query<{ body: string }>(
      "select body from ops.webhook_messages where company_id = $1 and event = 'cash_session.closed'",
      [company.id],
    )
    const bodies = rows.map(({ body }) => JSON.parse(body))
    expect(bodies.map(({ event, origin }) => [event, origin])).to.deep.equal([['cash_session.closed', 'pdv']])
    expect(bodies[0].data).to.deep.equal(await session())
    expect(bodies[0].data).to.include({ expected: '17.00', difference: '0.00', sales_count: 1 })
  })

  it('shows nothing of other companies', async () => {
    await send([movement('opened')])
    const { id } = await session()
    const stranger = await api.company({ idsFrom: FOREIGN_IDS })
    expectProblem(await stranger.get(`/cash-sessions/${id}`), 404, 'not_found')
    expect((await stranger.get('/cash-sessions')).body.data).to.deep.equal([])
    expectProblem(await company.get('/cash-sessions/caixa'), 404, 'not_found')
    expect((await company.get('/cash-sessions?status=closed')).body.data).to.deep.equal([])
    expect((await company.get('/cash-sessions?status=open')).body.data).to.have.length(1)
  })

  /** What the service knows of a sale and of a session, in cents. */
  interface KnownSale {
    readonly session: string
    readonly cents: number
    /** Till whose user sold. */
    readonly by: number
    gaveBack: string | null
  }
  interface KnownSession {
    opening: number
    moved: number
    isClosed: boolean
    /** Tills that opened it, and when. */
    by: number | null
  }

  const SESSIONS = ['s1', 's2', 's3']
  /** Movements, sales and cancellations of two tills, each of them also repeated, in any order. */
  const history = fc
    .record({
      floats: fc.array(fc.integer({ min: 0, max: 900 }), { minLength: 3, maxLength: 3 }),
      moves: fc.array(
        fc.record({ s: fc.nat(2), kind: fc.constantFrom('in', 'out'), cents: fc.integer({ min: 1, max: 5_000 }) }),
        { maxLength: 5 },
      ),
      sales: fc.array(
        fc.record({ s: fc.nat(2), change: fc.nat(3), cancels: fc.constantFrom(null, null, 'own', ...SESSIONS) }),
        { maxLength: 5 },
      ),
      closes: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
    })
    .chain((shop) => {
      const acts = [
        ...SESSIONS.flatMap((_, s) => [{ act: 'open', s }, ...(shop.closes[s] ? [{ act: 'close', s }] : [])]),
        ...shop.moves.map((_, n) => ({ act: 'move', s: n })),
        ...shop.sales.flatMap(({ cancels }, n) => [
          { act: 'sell', s: n },
          ...(cancels === null ? [] : [{ act: 'cancel', s: n }]),
        ]),
      ]
      const twice = [...acts, ...acts]
      const order = fc.shuffledSubarray(twice, { minLength: twice.length - 4, maxLength: twice.length })
      const tills = fc.array(fc.nat(1), { minLength: twice.length, maxLength: twice.length })
      return fc.record({ shop: fc.constant(shop), order, tills })
    })

  it('expects what an oracle does, in any order of arrival, from two tills at once [CASH-10]', async () => {
    const play = async ({ shop, order, tills }: typeof history extends fc.Arbitrary<infer H> ? H : never) => {
      const own = await api.company()
      const both = [await openTill(api.url, own), await openTill(api.url, own)] as const
      const { sale } = await openCounter(own)
      const sales = new Map<number, KnownSale>()
      const sessions = new Map<string, KnownSession>()
      const done = new Set<string>()
      const opened = new Set<number>()
      const known = (id: string): KnownSession => {
        const found = sessions.get(id) ?? { opening: 0, moved: 0, isClosed: false, by: null }
        sessions.set(id, found)
        return found
      }
      const at = (s: number) => `2026-03-10T1${s}:00:00.000Z`
      for (const [step, { act, s }] of order.entries()) {
        const by = tills[step] as 0 | 1
        const till = both[by]
        /** Who has the drawer of a session. */
        const ownerOf = (of: number) => both[(of % 2) as 0 | 1]
        const isNew = !done.has(`${act} ${s}`)
        done.add(`${act} ${s}`)
        const id = SESSIONS[s] as string
        const common = { session_id: id, at: at(s), amount: null }
        if (act === 'open') {
          const cents = shop.floats[s] as number
          await send([{ ...common, offline_id: `o${s}`, kind: 'opened', amount: cents / 100 }], ownerOf(s))
          if (!isNew) continue
          known(id).opening = cents
          opened.add(s)
        } else if (act === 'close') {
          await send([{ ...common, offline_id: `c${s}`, kind: 'closed', counted: { cash: 1 } }], ownerOf(s))
          if (isNew) known(id).isClosed = true
        } else if (act === 'move') {
          const { s: of, kind, cents } = shop.moves[s] as (typeof shop.moves)[number]
          const session_id = SESSIONS[of] as string
          await send([{ session_id, at: at(of), offline_id: `m${s}`, kind, amount: cents / 100 }], ownerOf(of))
          if (isNew) known(session_id).moved += kind === 'in' ? cents : -cents
        } else {
          const { s: of, change, cancels } = shop.sales[s] as (typeof shop.sales)[number]
          const session = SESSIONS[of] as string
          const named = act === 'cancel' && cancels !== 'own' ? (cancels as string) : session
          const status = act === 'cancel' ? 'cancelled' : 'completed'
          const paid = { amount_received: 10 + change, change }
          await upload(till, [sale(`v${s}`, { ...paid, status, cash_session_id: named })])
          const before = sales.get(s)
          if (act === 'sell' && !before) sales.set(s, { session, cents: 1_000, by, gaveBack: null })
          if (act === 'cancel' && !before) sales.set(s, { session: named, cents: 0, by, gaveBack: named })
          // A clerk's cancellation of another's sale is refused.
          if (act !== 'cancel' || !before || before.cents === 0 || before.by !== by || done.has(`gone ${s}`)) continue
          done.add(`gone ${s}`)
          const open = [...opened].filter((n) => n % 2 === by && !sessions.get(SESSIONS[n] as string)?.isClosed)
          if (named !== session) before.gaveBack = named
          else if (!sessions.get(session)?.isClosed) before.gaveBack = session
          else before.gaveBack = open.length === 0 ? null : (SESSIONS[Math.max(...open)] as string)
        }
      }
      const shown: Json[] = (await own.get('/cash-sessions')).body.data
      const expected = [...sessions].map(([id, { opening, moved }]) => {
        const all = [...sales.values()]
        const sold = all.filter(({ session, gaveBack }) => session === id && gaveBack !== id)
        const back = all.filter(({ session, gaveBack }) => session !== id && gaveBack === id)
        const sum = (some: readonly KnownSale[]) => some.reduce((cents, sale) => cents + sale.cents, 0)
        return [id, fromCents(opening + moved + sum(sold) - sum(back))]
      })
      const told = shown.map(({ session_id, expected }) => [session_id, expected])
      expect(told.sort()).to.deep.equal(expected.sort())
    }
    await explore(fc.asyncProperty(history, play), 6)
    const { parity } = await api.core.rebuild()
    expect(parity?.filter(({ equal }) => !equal)).to.deep.equal([])
  }).timeout(120_000)
})
