import { expect } from 'chai'
import fc from 'fast-check'
import * as z from 'zod'
import { type presentSource, Reader, type SentStatement, type Sight, WHOLE } from '#queries/reader.ts'
import { decodeCursor, encodeCursor } from '#queries/record-queries.ts'
import { t } from '#queries/table-names.ts'
import { DURATION_BOUNDS_MS, healthOfSpan } from '#queries/webhook-queries.ts'

/** Answers every statement with these rows, and records the statements. */
function answering(rows: object[], isPast = false) {
  const sent: SentStatement[] = []
  const source = { isPast, send: async (statement: SentStatement) => ({ rows, sent: sent.push(statement) }) }
  const seeing = (sight: Partial<Sight>, companyId = 7) =>
    new Reader(companyId, source as unknown as ReturnType<typeof presentSource>, { ...WHOLE, ...sight })
  return { sent, seeing }
}

const OWN = { userId: 3, from: '2026-01-01T03:00:00.000Z', to: '2026-01-02T03:00:00.000Z' }

describe('a reader', () => {
  it('removes costs from records, parsed or still text, and nothing else [PANEL-201]', async () => {
    const at = new Date(0)
    const item = { name: 'x "cost":"1"', cost: '2.50', price: '4.00', lines: [{ cost: '1.00' }], at }
    const { seeing } = answering([{ record: JSON.stringify({ ...item, at: null }), item, none: null }])
    const { rows } = await seeing({ hidesCosts: true }).query({ text: 'select 1' })
    const shown = { ...item, cost: null, lines: [{ cost: null }] }
    expect(rows).to.deep.equal([{ record: JSON.stringify({ ...shown, at: null }), item: shown, none: null }])
  })

  it('sends the text as written, with its company, if nothing is masked', () => {
    const statement = {
      name: 'one',
      text: `select from ${t.payables} p where p.company_id = $1 and p.id = $2`,
      values: [9],
    }
    const { text, name, values } = answering([]).seeing({}).sent(statement)
    expect({ text, name, values }).to.deep.equal({
      name: 'one',
      text: 'select from payables p where p.company_id = $1 and p.id = $2',
      values: [7, 9],
    })
  })

  it('finds no masked accounts, under a different statement name [PANEL-201]', () => {
    const clerk = answering([]).seeing({ hidesPayables: true })
    const masked = clerk.sent({ name: 'one', text: `select 1 from ${t.payables}` })
    expect(masked.text).to.equal('select 1 from (select t.* from payables t where false) payables')
    expect(masked.name).not.to.equal('one')
    expect(clerk.sent({ name: 'two', text: `select 1 from ${t.customers} c` })).to.deep.include({
      text: 'select 1 from customers c',
      name: 'two',
    })
  })

  it('gives different texts different names on one connection, those of past tables too [PANEL-83]', () => {
    const names = [false, true].map((isPast) => {
      const auditor = answering([], isPast).seeing({ hidesPersons: true })
      return auditor.sent({ name: 'one', text: `select 1 from ${t.customers} c` })
    })
    expect(new Set(names.map(({ text }) => text))).to.have.length(2)
    expect(new Set(names.map(({ name }) => name))).to.have.length(2)
  })

  it('has the parameters of own sales behind those of the statement, where they are used [ROLE-105]', () => {
    const clerk = answering([]).seeing({ ownSales: OWN })
    const sales = clerk.sent({ text: `select from ${t.sales} s where s.company_id = $1 and s.id = $2`, values: [9] })
    expect(sales.text).to.equal(
      `select from (select t.* from sales t where t.company_id = $1::bigint and t.seller_id = $3::bigint and t.sold_at >= $4::timestamptz and t.sold_at < $5::timestamptz) s where s.company_id = $1 and s.id = $2`,
    )
    expect(sales.values).to.deep.equal([7, 9, OWN.userId, OWN.from, OWN.to])
    expect(clerk.sent({ text: `select from ${t.cash_drawers} d` }).values).to.deep.equal([7, OWN.userId])
  })

  it('computes the sums of own sales once, before the CTEs of the statement [ROLE-105]', () => {
    const { text } = answering([])
      .seeing({ ownSales: OWN })
      .sent({ text: `with a as (select 1) select from a, ${t.sales_sums} s, ${t.sales_sums} r` })
    expect(text).to.match(/^with sales_sums as \(.*\), a as \(select 1\) select from a, sales_sums s, sales_sums r$/s)
  })

  for (const text of [
    'select from sales s',
    'select 1 from a join lateral sales s on true',
    'select (select max(id) FROM\n  ops.refused_sales)',
    'with a as (select 1) select from a join sales s on true',
    'with a as (select 1) select from a, sales s',
    'select from §orders§ o join §stores§ x on x.id = o.id, sales',
    'select from unnest($2::text[]) with ordinality as a (b, c), ops.request_log',
    'select 1 where exists (select from (§orders§ o cross join sales s))',
    'select from "sales" s',
    'with a as (table sales) select from a',
    "select '(' from /* ( */ sales",
  ])
    it(`refuses a bare name for every role: ${text.replace(/\s+/g, ' ')}`, () => {
      for (const sight of [WHOLE, { hidesPersons: true }, { ownSales: OWN }])
        expect(() => answering([]).seeing(sight).sent({ text })).to.throw(/in the place of a table: write \$\{t\./)
    })

  for (const condition of [
    's.company_id = $2',
    'company_id in ($2, $3)',
    's.company_id = any($2)',
    '$2::bigint = s.company_id',
    's.company_id = $12',
  ])
    it(`refuses another company than its own: ${condition} [ROLE-950]`, () => {
      const text = `select from ${t.sales} s where ${condition} and s.id = $1`
      expect(() =>
        answering([])
          .seeing({})
          .sent({ text, values: [2] }),
      ).to.throw(/compares company_id with \$1?2: \$1 is the reader's company/)
    })

  it('refuses a table without a rule', () => {
    expect(() => answering([]).seeing({}).sent({ text: 'select from §unlisted§ x' })).to.throw(
      'the table unlisted has no rule',
    )
  })

  it('takes functions, subqueries and parts of expressions for no tables', () => {
    const text = `with a as (select 1), b (x) as not materialized (select 2)
      select extract(epoch from p.lower), trim(both ', sales' from 'x, y'), max(a.x), b.y -- from sales
      from (a cross join (select 1, 2) c), b, lateral (values (1, 2)) d (x, y) join b on a.x is distinct from b.x
      cross join lateral unnest($2::text[]) u cross join lateral (select from generate_series(1, 2)) g`
    expect(
      answering([])
        .seeing({})
        .sent({ text, values: [[]] }).text,
    ).to.equal(text)
  })
})

const scope = { companyId: 1, resource: 'customers', filters: { name: 'ana', since: undefined } }
const key = z.tuple([z.string(), z.int()])
const cursor = encodeCursor(scope, ['a', 1])

describe('cursor', () => {
  it('decodes to its key, for the same list and filters in any order', () => {
    expect(decodeCursor(scope, key, cursor)).to.deep.equal(['a', 1])
    const filters = { b: 1, a: 'x' }
    const other = encodeCursor({ companyId: 1, resource: 'r', filters }, ['a', 1])
    expect(
      decodeCursor({ companyId: 1, resource: 'r', filters: { a: 'x', b: 1, c: undefined } }, key, other),
    ).to.deep.equal(['a', 1])
  })

  it('needs no escaping in a query string', () => {
    expect(encodeCursor(scope, ['São Paulo ?&+/', 1])).to.match(/^[\w-]+$/)
  })

  it('is refused by another company, list or other filters [LIST-3]', () => {
    expect(decodeCursor({ ...scope, companyId: 2 }, key, cursor)).to.equal(null)
    expect(decodeCursor({ ...scope, resource: 'sales' }, key, cursor)).to.equal(null)
    for (const filters of [{}, { name: 'Ana' }, { name: 'ana', since: 'x' }, { name: undefined, document: 'ana' }]) {
      expect(decodeCursor({ ...scope, filters }, key, cursor), JSON.stringify(filters)).to.equal(null)
    }
  })

  it('is refused if its key does not fit the list', () => {
    const forged = [[], ['a'], [1, 'a'], ['a', 1.5], ['a', 1, 2]]
    for (const wrong of forged) expect(decodeCursor(scope, key, encodeCursor(scope, wrong as never))).to.equal(null)
  })

  it('is refused if altered in any way [LIST-3]', () => {
    for (const broken of ['', 'x', cursor.slice(1), cursor.slice(0, -1), `${cursor}=`, `${cursor}A`, ` ${cursor}`]) {
      expect(decodeCursor(scope, key, broken), broken).to.equal(null)
    }
    const json = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    for (const altered of [{ ...json, v: 2 }, { ...json, x: 1 }, null, 1, []]) {
      const text = Buffer.from(JSON.stringify(altered)).toString('base64url')
      expect(decodeCursor(scope, key, text)).to.equal(null)
    }
  })

  it('never throws on any text', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.base64String()), (text) => decodeCursor(scope, key, text) === null))
  })
})

const NOTHING = { failures: 0, last_failure: null }
const failed = (at: string) => ({ at, status: 500, error: 'http_status', delivery_id: '1' })
const span = (...counted: Parameters<typeof healthOfSpan>[0]) => healthOfSpan(counted, 'America/Sao_Paulo')

describe('health of a webhook endpoint', () => {
  it('is null without attempts [HOOK-71]', () => {
    const none = { attempts: 0, failures: 0, success_rate: null, p95_ms: null, last_failure: null }
    expect(span()).to.deep.equal(none)
  })

  it('is 100.00 only without failures [HOOK-71]', () => {
    expect(span({ bucket: 0, attempts: 100_000, ...NOTHING }).success_rate).to.equal('100.00')
    const one = span(
      { bucket: 0, attempts: 99_999, ...NOTHING },
      { bucket: -1, attempts: 1, failures: 1, last_failure: null },
    )
    expect(one).to.include({ attempts: 100_000, failures: 1, success_rate: '99.99' })
    expect(span({ bucket: -1, attempts: 7, failures: 7, last_failure: null }).success_rate).to.equal('0.00')
  })

  it('contains the 95th percentile of response times, without attempts that got no response [HOOK-71]', () => {
    const last = DURATION_BOUNDS_MS.length
    expect(span({ bucket: 0, attempts: 95, ...NOTHING }, { bucket: last, attempts: 5, ...NOTHING }).p95_ms).to.equal(5)
    expect(span({ bucket: 0, attempts: 90, ...NOTHING }, { bucket: 6, attempts: 10, ...NOTHING }).p95_ms).to.equal(88)
    expect(span({ bucket: last, attempts: 1, ...NOTHING }).p95_ms).to.equal(10_000)
    expect(span({ bucket: -1, attempts: 9, failures: 9, last_failure: null }).p95_ms).to.equal(null)
  })

  it('shows the last failure, in the company’s zone', () => {
    const hours = ['2026-11-21T09:00:00.000Z', '2026-11-21T11:00:00.000Z', '2026-11-20T23:00:00.000Z']
    const all = hours.map((at) => ({ bucket: 3, attempts: 1, failures: 1, last_failure: failed(at) }))
    expect(span(...all).last_failure).to.deep.equal({ ...failed('2026-11-21T08:00:00.000-03:00') })
  })
})
