import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { type Json, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { untilBlocked } from '../support/lock-waits.ts'
import { type Counter, openCounter, upload } from '../support/offline-sales.ts'
import { openTill, type TestTill, tillWith } from '../support/till.ts'

const SALES = 60

describe('concurrent uploads', () => {
  const database = useDatabase()
  let apis: TestApi[]
  let company: TestCompany
  let till: TestTill
  let counter: Counter

  before(async () => {
    apis = await Promise.all([startApi(database.url), startApi(database.url)])
  })
  after(() => Promise.all(apis.map((api) => api.close())))
  beforeEach(async () => {
    company = await apis[0]!.company()
    till = await openTill(apis[0]!.url, company)
    counter = await openCounter(company)
  })

  /** The same till at alternating services. */
  const at = (turn: number) => tillWith(apis[turn % 2]!.url, till.user, till.token)
  const salesIn = async () => (await company.get('/sales?limit=200')).body.data as Json[]

  it('eight uploads of the same sales over two services record each once [UP-4]', async () => {
    const sales = Array.from({ length: SALES }, (_, n) => counter.sale(`n-${n}`))
    const answers = await Promise.all(Array.from({ length: 8 }, (_, turn) => upload(at(turn), sales)))
    const ids = answers.map(({ results }) => results.map((result: Json) => result.sale_id))
    for (const each of ids) expect(each).to.deep.equal(ids[0])
    const statuses = answers.flatMap(({ results }) => results.map((result: Json) => result.status))
    expect(statuses.filter((status) => status === 'created')).to.have.length(SALES)
    expect(statuses.filter((status) => status === 'duplicate')).to.have.length(7 * SALES)
    expect((await salesIn()).map(({ id }) => id)).to.have.members(ids[0])
    expect(await counter.stock()).to.equal('40.000')
  })

  it('of different sales under the same identifiers accept one of each, and refuse the others [UP-5]', async () => {
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, turn) => {
        const created_at = `2026-03-10T14:00:0${turn}.000Z`
        return upload(
          at(turn),
          Array.from({ length: 10 }, (_, n) => counter.sale(`n-${n}`, { created_at })),
        )
      }),
    )
    for (let n = 0; n < 10; n++) {
      const results = answers.map((answer) => answer.results[n])
      expect(results.filter(({ status }) => status === 'created')).to.have.length(1)
      expect(results.filter(({ status, code }) => status === 'error' && code === 'duplicate_resource')).to.have.length(
        7,
      )
    }
    expect(await salesIn()).to.have.length(10)
  })

  it('keep exact stock beside sales through API v1', async () => {
    const item = { items: [{ catalog_item_id: counter.product, quantity: '1' }] }
    const sale = { ...item, payments: [{ payment_type_id: counter.cash, amount: '10.00' }] }
    const online = Array.from({ length: 20 }, () => company.post('/sales', sale))
    const offline = Array.from({ length: 8 }, (_, turn) =>
      upload(
        at(turn),
        Array.from({ length: 10 }, (_, n) => counter.sale(`${turn}-${n}`)),
      ),
    )
    const sold = (await Promise.all(online)).filter(({ status }) => status === 201).length
    await Promise.all(offline)
    expect(await counter.stock()).to.equal(`${100 - 80 - sold}.000`)
  })

  it('after a lost response are repeated and find every sale under its id [UP-4]', async () => {
    const sales = Array.from({ length: SALES }, (_, n) => counter.sale(`n-${n}`))
    const before = await upload(till, sales.slice(0, 20))
    const again = await upload(at(1), sales)
    expect(again.message).to.equal('60 vendas processadas: 40 registradas, 20 já enviadas antes, 0 com erro.')
    expect(again.results.slice(0, 20)).to.deep.equal(
      before.results.map((result: Json) => ({ ...result, status: 'duplicate' })),
    )
    for (const { status } of again.results.slice(20)) expect(status).to.equal('created')
    expect(await salesIn()).to.have.length(SALES)
  })

  it('of refused sales and of their corrections do not deadlock', async () => {
    const wrong = (id: string) => counter.sale(id, { total: 11 })
    const digest = (id: string) =>
      createHash('sha256')
        .update(JSON.stringify(wrong(id)))
        .digest('hex')
    const [late = '', early = ''] = ['a', 'b'].sort((a, b) => (digest(a) < digest(b) ? -1 : 1))
    // Stored in another order than that of their digests.
    await upload(till, [wrong(early)])
    await upload(till, [wrong(late)])
    const { pool } = apis[0]!.core
    const holder = await pool.connect()
    try {
      await holder.query('begin')
      await holder.query('select from ops.refused_sales where company_id = $1 and offline_id = $2 for update', [
        company.id,
        early,
      ])
      const corrected = upload(at(0), [counter.sale(early), counter.sale(late)])
      await untilBlocked(pool)
      const again = upload(at(1), [wrong(early), wrong(late)])
      await untilBlocked(pool, 2)
      await holder.query('rollback')
      await Promise.all([corrected, again])
    } finally {
      holder.release()
    }
  })
})
