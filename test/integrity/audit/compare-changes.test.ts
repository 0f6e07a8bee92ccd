import { expect } from 'chai'
import { checkTables, checkTablesOnSchedule, findTableCheck } from '#integrity/table-checks.ts'
import { OWN_DATABASE, useCompanyPerTest } from '../../support/use-api.ts'
import { until } from '../../support/wait.ts'

describe('comparison of what has changed', () => {
  const { api, company } = useCompanyPerTest(OWN_DATABASE)
  const query = (text: string, values: unknown[] = []) => api.core.pool.query(text, values)
  const revision = async () =>
    (await query('select revision from ops.ledgers where company_id = $1', [company.id])).rows[0].revision as number
  const noPace = async () => {}
  const isEqualSince = async (verified: number) =>
    (await api.core.verifyChanges([{ company_id: company.id, revision: verified }], noPace)).length === 1

  /** An item, a customer with an account, and a verified revision; then changes of all of them, and a sale. */
  async function trade() {
    const made = async (path: string, body: object) => (await company.post(path, body)).body.data.id as number
    const item = await made('/catalog/items', { name: 'Café', price: '10.00', stock: '50' })
    const other = await made('/catalog/items', { name: 'Chá', price: '5.00', stock: '50' })
    const customer = await made('/customers', { name: 'Ana', person_type: 'PF' })
    const cash = await company.paymentType('cash')
    const verified = await revision()
    await company.call('PATCH', `/catalog/items/${item}`, { price: '11.00' })
    await company.call('PATCH', `/customers/${customer}`, { name: 'Ana Maria' })
    const payments = [{ payment_type_id: cash, amount: '22.00' }]
    const sale = await made('/sales', { items: [{ catalog_item_id: item, quantity: '2' }], payments })
    return { item, other, customer, sale, verified }
  }

  /** Statements that change a row behind the ledger's back. */
  const FAULTS: Readonly<Record<string, string>> = {
    'a new row with another value': 'update read.sales set total_cents = total_cents + 1 where company_id = $1',
    'a new row with another document': `update read.sales set doc = replace(doc::text, '22.00', '2.00')::json where company_id = $1`,
    'a new row that is gone': 'delete from read.sales where company_id = $1',
    'a movement that is gone': 'delete from read.stock_movements where company_id = $1 and quantity < 0',
    'a row of no event': `insert into read.customers select (t.c).* from (select jsonb_populate_record(c, '{"id": 999, "name_key": "x"}') as c
      from read.customers c where company_id = $1) t`,
    'an older row with another value':
      'update read.item_stocks set stock = stock + 1 where company_id = $1 and id = $2',
    'an older row in its former state, revision included': `update read.customers set revision = first_revision, past_revisions = null,
      doc = replace(doc::text, 'Ana Maria', 'Ana')::json where company_id = $1`,
    'an older row that lost an event from its history': `update read.catalog_items set past_revisions = '[]' where company_id = $1 and id = $2`,
  }

  for (const [fault, statement] of Object.entries(FAULTS))
    it(`finds ${fault} [OPS-941]`, async () => {
      const { verified, item } = await trade()
      expect(await isEqualSince(verified), 'before the fault').to.equal(true)
      await query(statement, statement.includes('$2') ? [company.id, item] : [company.id])
      expect(await isEqualSince(verified)).to.equal(false)
    })

  it('leaves a row that no new event touches to the comparison with the whole ledger [OPS-941] [OPS-942]', async () => {
    const { verified, other } = await trade()
    await query(
      `update read.catalog_items set doc = replace(doc::text, '5.00', '4.00')::json where company_id = $1 and id = $2`,
      [company.id, other],
    )
    expect(await isEqualSince(verified)).to.equal(true)
    const whole = await checkTables(api.core, company.id)
    expect(whole).to.have.nested.property('differences[0].key.id', other)
  })

  it('leaves a ledger that ends before its tables, or was restored, to the whole comparison [OPS-941]', async () => {
    const { verified } = await trade()
    expect(await isEqualSince((await revision()) + 1)).to.equal(false)
    await query('update ops.ledgers set revision = revision + 1 where company_id = $1', [company.id])
    expect(await isEqualSince(verified)).to.equal(false)
    await query('update ops.ledgers set revision = revision - 1 where company_id = $1', [company.id])
    expect(await isEqualSince(verified)).to.equal(true)
  })

  it('goes on from the last comparison, and settles a difference with the whole ledger [OPS-46]', async () => {
    const others = [await api.company(), await api.company()]
    for (const { id } of others) await checkTables(api.core, id)
    const { item } = await trade()
    await checkTables(api.core, company.id)
    const first = await findTableCheck(api.core.pool, company.id)
    await company.call('PATCH', `/catalog/items/${item}`, { price: '12.00' })
    const told: unknown[] = []
    /** Lets a round run over the companies that are due. */
    const round = async () => {
      await query(`update ops.table_checks set due_at = now() - interval '1 second'`)
      const checks = checkTablesOnSchedule(api.core, {
        isBehind: () => false,
        onDifferent: (companyId, _revision, found) => companyId === company.id && told.push(found),
        onError: (error) => expect.fail(String(error)),
        rest_ms: () => 0,
      })
      const due = "select count(*)::int as due from ops.table_checks where due_at < now() + interval '30 minutes'"
      await until(async () => (await query(due)).rows[0].due === 0)
      await checks.stop()
    }
    await round()
    expect(await findTableCheck(api.core.pool, company.id)).to.deep.include({
      revision: await revision(),
      differences: [],
      whole_revision: first?.revision,
      whole_at: first?.whole_at,
    })
    await company.call('PATCH', `/catalog/items/${item}`, { price: '13.00' })
    await query(
      `update read.catalog_items set doc = replace(doc::text, '13.00', '1.00')::json where company_id = $1 and id = $2`,
      [company.id, item],
    )
    await round()
    expect(told).to.have.nested.property('[0][0].fields').that.deep.equals(['doc.price'])
    expect((await findTableCheck(api.core.pool, company.id))?.whole_revision).to.equal(await revision())
  })

  it('compares a whole ledger again within thirty days, and then not again at once [OPS-942]', async () => {
    await trade()
    await checkTables(api.core, company.id)
    const days = `select extract(epoch from whole_due_at - now()) / 86400 as days from ops.table_checks where company_id = $1`
    expect(Number((await query(days, [company.id])).rows[0].days)).to.be.within(21, 29)
  })
})
