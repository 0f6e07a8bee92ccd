import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { registerSale } from '#commands/register-sale.ts'
import { BASIC_WEBHOOK_EVENTS, WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { expectProblem } from '../../support/answers.ts'
import type { Json } from '../../support/api.ts'
import { useOutbox } from './outbox.ts'

describe('webhook outbox', () => {
  const { api, company, asRegistrar, register, queued, customer, replayed, expectToldAlike } = useOutbox()

  it('contains the GET response of the record, with time and origin [HOOK-9]', async () => {
    const webhook = await register()
    const reply = await company.post('/customers', { name: 'Ana', phone: '11 91234-0001' })
    const [delivery, ...others] = await queued(webhook)
    expect(others).to.deep.equal([])
    const revision = Number(reply.headers.get('x-ledger-revision'))
    expect(delivery).to.include({ event: 'customer.created', revision, sequence: 1, replay: false, status: 'pending' })
    const { id } = reply.body.data
    const { data } = (await company.get(`/customers/${id}`)).body
    const body = JSON.parse(delivery?.body ?? '')
    expect(Object.keys(body)).to.deep.equal(['event', 'occurred_at', 'origin', 'data'])
    expect(body).to.deep.equal({ event: 'customer.created', occurred_at: data.created_at, origin: 'api', data })
  })

  it('contains every basic event once, with the record as of the event [HOOK-7, HOOK-8, KIT-10]', async () => {
    const webhook = await register()
    const cash = await company.paymentType('cash')
    const client = await customer('Ana')
    await company.call('PATCH', `/customers/${client.id}`, { notes: 'cliente antiga' })
    const item = (await company.post('/catalog/items', { name: 'Café', price: '10.00', stock: '5' })).body.data
    await company.call('PATCH', `/catalog/items/${item.id}`, { price: '12.00', stock: '9' })
    const changed = (await company.get(`/catalog/items/${item.id}`)).body.data
    const account = { description: 'Conta', amount: '10.00', due_date: '2020-01-31' }
    const receivable = (await company.post('/finance/receivables', account)).body.data
    const overdue = (await company.get(`/finance/receivables/${receivable.id}`)).body.data
    const payable = (await company.post('/finance/payables', account)).body.data
    const settle = (side: string, id: number) =>
      company.post(`/finance/${side}/${id}/settle`, { payment_method: 'pix' }, { 'idempotency-key': side })
    await settle('receivables', receivable.id)
    await settle('payables', payable.id)
    const sold = await company.post('/sales', {
      items: [{ catalog_item_id: item.id, quantity: '2' }],
      payments: [{ payment_type_id: cash, amount: '24.00' }],
    })
    const sale = (await company.get(`/sales/${sold.body.data.id}`)).body.data
    await company.post(`/sales/${sale.id}/cancel`, { reason: 'engano' })
    const told = await queued(webhook)
    expect(told.map(({ event }) => event)).to.deep.equal([
      'customer.created',
      'customer.updated',
      'catalog_item.created',
      'catalog_item.updated',
      'receivable.created',
      'receivable.settled',
      'payable.settled',
      'sale.completed',
      'sale.cancelled',
    ])
    expect(told.map(({ sequence }) => sequence)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8, 9])
    const data = told.map(({ body }) => JSON.parse(body).data)
    // Price and stock of one request are one message, though the ledger has two events.
    expect(data[3]).to.deep.equal(changed)
    expect(data[4]).to.deep.equal(overdue)
    expect(data[5].status).to.equal('settled')
    expect(data[7]).to.deep.equal(sale)
    expect(data[8]).to.deep.equal((await company.get(`/sales/${sale.id}`)).body.data)
    await expectToldAlike()
  })

  it('contains deactivations, restorations and counts of an item, with its state [HOOK-7, HOOK-29, KIT-10]', async () => {
    const webhook = await register()
    const byName = await register(['catalog_item.deleted'])
    const put = (fields: object) =>
      company.call('PUT', '/catalog/items/by-external/c-1', { name: 'Café', price: '10.00', ...fields })
    const { id } = (await put({ stock: '5' })).body.data
    const patch = (fields: object) => company.call('PATCH', `/catalog/items/${id}`, fields)
    const counted = (await patch({ stock: '7' })).body.data
    const corrected = (await patch({ stock_adjustment: '-1' })).body.data
    await put({ stock: '6' })
    const both = (await put({ stock: '3', price: '11.00' })).body.data
    const cash = await company.paymentType('cash')
    const sale = await company.post('/sales', {
      items: [{ catalog_item_id: id, quantity: '1' }],
      payments: [{ payment_type_id: cash, amount: '11.00' }],
    })
    await company.post(`/sales/${sale.body.data.id}/cancel`, {})
    const last = (await company.get(`/catalog/items/${id}`)).body.data
    await company.call('DELETE', `/catalog/items/${id}`)
    const [{ deleted_at }] = (await company.get('/catalog/items/deleted')).body.data
    const revived = (await put({ stock: '8', price: '12.00' })).body.data
    const told = (await queued(webhook)).filter(({ event }) => event === 'catalog_item.updated')
    expect(told.map(({ body }) => JSON.parse(body).data)).to.deep.equal([
      counted,
      corrected,
      both,
      { ...last, deleted_at },
      revived,
    ])
    const [removed, ...others] = await queued(byName)
    expect(others).to.deep.equal([])
    expect(removed).to.include({ event: 'catalog_item.deleted', sequence: 1, revision: told[3]?.revision })
    expect(JSON.parse(removed?.body ?? '').data).to.deep.equal({ id, external_id: 'c-1', deleted_at })
    await expectToldAlike()
  })

  it('contains further events by name or *, never by basic [HOOK-7, KIT-10]', async () => {
    const isBasic = (name: string) => BASIC_WEBHOOK_EVENTS.some((basic) => basic === name)
    const names = WEBHOOK_EVENTS.filter(
      (name) =>
        !isBasic(name) && !/^(order|cash_session)\.|\.forgotten$|stock_changed$|payment_re|sale\.return/.test(name),
    )
    const [basic, further, both] = [await register(), await register(names), await register(['basic', ...names])]
    const all = await register(['*'])
    const item = (await company.post('/catalog/items', { name: 'Café', price: '10.00' })).body.data
    const removed: Json[] = [item]
    const account = { description: 'Conta', amount: '10.00', due_date: '2030-01-31' }
    for (const [path, fields, changes] of [
      ['/customers', { name: 'Ana', external_id: 'a' }, { notes: 'x' }],
      ['/suppliers', { name: 'Bia' }, { notes: 'x' }],
      ['/catalog/categories', { name: 'Bebidas' }, { name: 'Sucos' }],
      ['/finance/receivables', account, { amount: '11.00' }],
      ['/finance/payables', account, { amount: '11.00' }],
    ] as const) {
      const { id } = (await company.post(path, fields)).body.data
      removed.push((await company.call('PATCH', `${path}/${id}`, changes)).body.data)
      expect((await company.call('DELETE', `${path}/${id}`)).status).to.equal(204)
    }
    await company.call('DELETE', `/catalog/items/${item.id}`)
    const told = await queued(further)
    expect(told.map(({ event }) => event)).to.have.members(names)
    for (const { event, body } of told) {
      const { data, occurred_at } = JSON.parse(body)
      if (!event.endsWith('.deleted')) continue
      const before = removed.find(({ id }) => id === data.id)
      expect(data, event).to.deep.equal({ id: before?.id, external_id: data.external_id, deleted_at: occurred_at })
    }
    expect(told.find(({ event }) => event === 'customer.deleted')?.body).to.include('"external_id":"a"')
    const inBasic = (await queued(basic)).map(({ event }) => event)
    expect(inBasic).to.deep.equal([
      'catalog_item.created',
      'customer.created',
      'customer.updated',
      'receivable.created',
      'catalog_item.updated',
    ])
    expect((await queued(both)).map(({ event }) => event)).to.have.members([...inBasic, ...names])
    expect((await queued(all)).map(({ event }) => event)).to.have.members([...inBasic, ...names])
    expect(await replayed(both)).to.equal(inBasic.length + names.length)
    expect(await replayed(all)).to.equal(inBasic.length + names.length)
    expect(await replayed(basic)).to.equal(inBasic.length)
    await expectToldAlike()
  })

  it('contains erasures under their own name, and changes with the current record [PRIV-7, KIT-10]', async () => {
    const [basic, named] = [await register(), await register(['customer.forgotten', 'supplier.forgotten'])]
    const why = { ground: 'holder_request', queue: true }
    const ana = (await company.post('/customers', { name: 'Ana', external_id: 'a' })).body.data
    const account = { description: 'Conta', amount: '10.00', due_date: '2030-01-31', customer_id: ana.id }
    const { id } = (await company.post('/finance/receivables', account)).body.data
    const queuedUp = (await company.post(`/customers/${ana.id}/forget`, why)).body.data
    await company.call('DELETE', `/finance/receivables/${id}`)
    const forgotten = (await company.post(`/customers/${ana.id}/forget`, why)).body.data
    const bia = (await company.post('/suppliers', { name: 'Bia' })).body.data
    await company.call('DELETE', `/suppliers/${bia.id}`)
    await company.post(`/suppliers/${bia.id}/forget`, why)
    const dataOf = ({ event, body }: { event: string; body: string }) => [event, JSON.parse(body).data]
    const told = (await queued(named)).map(dataOf)
    expect(told).to.deep.equal([
      ['customer.forgotten', { id: ana.id, external_id: 'a', forgotten_at: forgotten.forgotten_at }],
      ['supplier.forgotten', { id: bia.id, external_id: null, forgotten_at: told[1]?.[1].forgotten_at }],
    ])
    expect((await queued(basic)).map(dataOf).filter(([event]) => event === 'customer.updated')).to.deep.equal([
      ['customer.updated', { ...queuedUp, name: null }],
      ['customer.updated', forgotten],
    ])
    await expectToldAlike()
  })

  it('shows the origin of events from other channels; the panel counts as the counter [HOOK-7] [PANEL-110]', async () => {
    const webhook = await register()
    await company.run(createCustomer, { name: 'Bia', person_type: 'PF' }, 'system')
    const cash = await company.paymentType('cash')
    const lines = [{ description: 'Bolo', quantity: '1', unit_price: '10.00' }]
    await company.run(registerSale, { items: lines, payments: [{ payment_type_id: cash, amount: '10.00' }] }, 'panel')
    expect((await queued(webhook)).map(({ body }) => JSON.parse(body).origin)).to.deep.equal(['system', 'pdv'])
  })

  it('excludes endpoints that did not subscribe, are disabled, or caused the event [HOOK-10]', async () => {
    const sales = await register(['sale.completed'])
    const off = await register()
    await asRegistrar('POST', `/webhooks/${off}/disable`)
    const all = await register()
    await customer('Ana')
    const own = await asRegistrar('POST', '/customers', { name: 'Feita por quem registrou' })
    expect(own.status).to.equal(201)
    expect(await queued(sales)).to.deep.equal([])
    expect(await queued(off)).to.deep.equal([])
    expect((await queued(all)).map(({ body }) => JSON.parse(body).data.name)).to.deep.equal(['Ana'])
  })

  for (const [side, ofBasic] of [
    ['receivable', ['receivable.created', 'receivable.settled']],
    ['payable', ['payable.settled']],
  ] as const)
    it(`contains each payment and reversal of a ${side} by name; the last cent also settles it [HOOK-100]`, async () => {
      const [named, basic] = [await register(['*']), await register()]
      const path = `/finance/${side}s`
      const account = { description: 'Conta', amount: '10.00', due_date: '2020-01-31' }
      const { id } = (await company.post(path, account)).body.data
      const pay = (amount: string) =>
        company.post(`${path}/${id}/payments`, { amount }, { 'idempotency-key': `${side}-${amount}` })
      await pay('4.00')
      const settled = (await pay('6.00')).body.data
      await company.post(`${path}/${id}/payments/${settled.payments[0].id}/reverse`, { reason: 'engano' })
      const told = await queued(named)
      expect(told.map(({ event }) => event)).to.deep.equal(
        ['created', 'payment_received', 'payment_received', 'settled', 'payment_reversed'].map(
          (name) => `${side}.${name}`,
        ),
      )
      const data = told.map(({ body }) => JSON.parse(body).data)
      expect(data.map(({ open_amount }) => open_amount)).to.deep.equal(['10.00', '6.00', '0.00', '0.00', '4.00'])
      expect(data[2]).to.deep.equal(settled)
      expect(data[3]).to.deep.equal(settled)
      expect((await queued(basic)).map(({ event }) => event)).to.deep.equal(ofBasic)
      await expectToldAlike()
    })

  it('numbers deliveries of an endpoint without gaps, concurrent ones included [HOOK-16]', async () => {
    const webhook = await register()
    const names = Array.from({ length: 40 }, (_, index) => `Cliente ${index}`)
    const items = names.map((name, index) => ({ name: `${name} do lote`, external_id: `l-${index}` }))
    await Promise.all([...names.map(customer), company.post('/customers/batch', { items })])
    const told = await queued(webhook)
    expect(told.map(({ sequence }) => sequence)).to.deep.equal(Array.from({ length: 80 }, (_, index) => index + 1))
    const revisions = told.map(({ revision }) => revision ?? 0)
    expect(revisions).to.deep.equal([...revisions].sort((a, b) => a - b))
  })

  it('contains nothing for refusals, unchanged records and unsubscribed deletions [HOOK-8]', async () => {
    const { id } = await customer('Ana')
    const webhook = await register()
    expectProblem(await company.post('/customers', { name: 'ana' }), 409, 'duplicate_resource')
    await company.call('PATCH', `/customers/${id}`, { name: 'Ana' })
    await company.call('DELETE', `/customers/${id}`)
    expect(await queued(webhook)).to.deep.equal([])
  })

  it('stores no messages for a company without endpoints', async () => {
    await customer('Ana')
    const { rows } = await api.core.pool.query('select 1 from webhook_messages where company_id = $1', [company.id])
    expect(rows).to.deep.equal([])
  })
})
