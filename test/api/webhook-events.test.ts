import { expect } from 'chai'
import { cancelOrder, deliverOrder, dispatchOrder, undoDelivery } from '#commands/order-commands.ts'
import { type RecordPaymentInput, recordPayment } from '#commands/order-payment-command.ts'
import { createCustomer } from '#commands/person-commands.ts'
import { registerSale } from '#commands/register-sale.ts'
import { createStore } from '#commands/store-commands.ts'
import { revokeApiKey } from '#commands/webhook-commands.ts'
import { BASIC_WEBHOOK_EVENTS, WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import { type Json, send } from '../support/api.ts'
import { placedOrder } from '../support/orders.ts'
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

  it('contains every basic event once, with the record as of the event [HOOK-11, HOOK-8, KIT-10]', async () => {
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

  it('contains deactivations, restorations and counts of an item, with its state [HOOK-29, KIT-10]', async () => {
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

  it('contains further events by name or *, never by basic [HOOK-11, KIT-10]', async () => {
    const isBasic = (name: string) => BASIC_WEBHOOK_EVENTS.some((basic) => basic === name)
    const names = WEBHOOK_EVENTS.filter(
      (name) =>
        !isBasic(name) &&
        !/^(order|cash_session|till)\.|\.forgotten$|stock_changed$|payment_re|sale\.return/.test(name),
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

  it('shows the origin of events from other channels; the panel counts as the counter [PANEL-110]', async () => {
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

describe('webhook outbox: operations', () => {
  const { api, company, asRegistrar, register, queued, customer } = useOutbox()

  it('test queues one delivery without an event [HOOK-24]', async () => {
    const webhook = await register(['sale.completed'])
    const reply = await asRegistrar('POST', `/webhooks/${webhook}/test`)
    expect(reply.status).to.equal(200)
    expect(reply.body.data).to.deep.include({
      webhook_id: webhook,
      event: 'webhook.test',
      revision: null,
      sequence: null,
    })
    const [test] = await queued(webhook)
    expect(test?.id).to.equal(reply.body.data.id)
    expect(JSON.parse(test?.body ?? '')).to.deep.include({ event: 'webhook.test', origin: 'system' })
    const shown = await asRegistrar('GET', `/webhooks/${webhook}/deliveries/${test?.id}`)
    expect(shown.body.data).to.deep.equal(reply.body.data)
  })

  it('test is delivered before all other pending deliveries of the endpoint', async () => {
    const webhook = await register()
    await customer('Ana')
    await api.core.pool.query(
      `update webhook_deliveries set next_attempt_at = now() - interval '1 hour' where webhook_id = $1 and company_id = $2`,
      [webhook, company.id],
    )
    const { data } = (await asRegistrar('POST', `/webhooks/${webhook}/test`)).body
    expect(data.next_attempt_at).to.equal(data.created_at)
    const { rows } = await api.core.pool.query(
      'select id from webhook_deliveries where webhook_id = $1 and company_id = $2 order by next_attempt_at limit 1',
      [webhook, company.id],
    )
    expect(rows).to.deep.equal([{ id: data.id }])
  })

  it('run once per key, concurrently too', async () => {
    const webhook = await register()
    const headers = { 'idempotency-key': 'teste' }
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => asRegistrar('POST', `/webhooks/${webhook}/test`, undefined, headers)),
    )
    expect(new Set(replies.map((reply) => reply.text)).size).to.equal(1)
    expect(replies.filter((reply) => reply.headers.get('idempotent-replayed') === 'true')).to.have.length(9)
    expect(await queued(webhook)).to.have.length(1)
    const other = await asRegistrar('POST', `/webhooks/${webhook}/replay`, {}, headers)
    expectProblem(other, 409, 'idempotency_key_reuse')
  })

  it('redeliver makes a delivery due again, in any state', async () => {
    const webhook = await register()
    await customer('Ana')
    const [first] = await queued(webhook)
    await api.core.pool.query(
      `update webhook_deliveries set status = 'failed', tries = 6, next_attempt_at = null,
                attempts = '[{"at":"2026-11-21T12:00:00Z","status":500,"duration_ms":3,"error":null,"response":"ops"}]'
         where id = $1`,
      [first?.id],
    )
    const reply = await asRegistrar('POST', `/webhooks/${webhook}/deliveries/${first?.id}/redeliver`)
    expect(reply.body.data).to.deep.include({ id: first?.id, sequence: 1, status: 'pending' })
    expect(reply.body.data.attempts).to.deep.equal([
      { at: '2026-11-21T09:00:00.000-03:00', status: 500, duration_ms: 3, error: null, response: 'ops' },
    ])
    expect(reply.body.data.next_attempt_at).to.be.a('string')
    const missing = '00000000-0000-7000-8000-000000000000'
    for (const id of [missing, 'x', '7']) {
      const refused = await asRegistrar('POST', `/webhooks/${webhook}/deliveries/${id}/redeliver`)
      expectProblem(refused, 404, 'not_found')
    }
  })

  it('list deliveries newest first, in pages, with filters [HTTP-15]', async () => {
    const webhook = await register()
    for (const name of ['Ana', 'Bia', 'Caio', 'Davi', 'Eva']) await customer(name)
    await api.core.pool.query(
      `update webhook_deliveries set status = 'delivered' where webhook_id = $1 and sequence = 2 and company_id = $2`,
      [webhook, company.id],
    )
    const sequences: number[] = []
    let cursor: string | null = ''
    do {
      const page: Json = await asRegistrar(
        'GET',
        `/webhooks/${webhook}/deliveries?limit=2${cursor && `&cursor=${cursor}`}`,
      )
      sequences.push(...page.body.data.map((delivery: Json) => delivery.sequence))
      cursor = page.body.meta.next_cursor
    } while (cursor)
    expect(sequences).to.deep.equal([5, 4, 3, 2, 1])
    const delivered = await asRegistrar(
      'GET',
      `/webhooks/${webhook}/deliveries?status=delivered&event=customer.created`,
    )
    expect(delivered.body.data.map((delivery: Json) => delivery.sequence)).to.deep.equal([2])
    expectInvalid(await asRegistrar('GET', `/webhooks/${webhook}/deliveries?status=lost`), ['status'])
  })
})

describe('webhook outbox of orders', () => {
  const { company, register, queued, expectToldAlike } = useOutbox()
  const NAMES = [
    'order.created',
    'order.paid',
    'order.dispatched',
    'order.delivered',
    'order.delivery_undone',
    'order.refunded',
    'order.cancelled',
    'order.expired',
  ]

  it('contains an order’s events with its state and link for endpoints that name them [HOOK-9, KIT-10]', async () => {
    const [basic, named] = [await register(), await register(NAMES)]
    const alias = `loja-${company.id}`
    await company.run(createStore, { alias, commission_percentage: '5', sandbox: true })
    const told = (id: number, provider_status: string, more: Partial<RecordPaymentInput> = {}) =>
      company.run(recordPayment, {
        id,
        provider_payment_id: `p${id}`,
        provider_status,
        status_detail: null,
        live_mode: false,
        attempt_id: null,
        ...more,
      })
    const id = await placedOrder(company, alias)
    await told(id, 'pending')
    await told(id, 'approved')
    await company.run(dispatchOrder, { id })
    await company.run(deliverOrder, { id })
    await company.run(undoDelivery, { id })
    await told(id, 'approved', { refunded: '6.30' })
    await told(id, 'refunded')
    const expired = await placedOrder(company, alias)
    await told(expired, 'pending')
    await told(expired, 'cancelled', { status_detail: 'expired' })
    await company.run(cancelOrder, { id: await placedOrder(company, alias) })
    const messages = (await queued(named)).map(({ event, body }) => [event, JSON.parse(body).data] as const)
    expect(
      messages.map(([event, { status, refunded_total, commission }]) => [
        event,
        status,
        refunded_total,
        commission?.refunded ?? null,
      ]),
    ).to.deep.equal([
      ['order.created', 'pending', '0.00', null],
      ['order.paid', 'paid', '0.00', '0.00'],
      ['order.dispatched', 'paid', '0.00', '0.00'],
      ['order.delivered', 'paid', '0.00', '0.00'],
      ['order.delivery_undone', 'paid', '0.00', '0.00'],
      ['order.refunded', 'paid', '6.30', '0.32'],
      ['order.refunded', 'refunded', '46.30', '2.32'],
      ['order.created', 'pending', '0.00', null],
      ['order.expired', 'cancelled', '0.00', null],
      ['order.created', 'pending', '0.00', null],
      ['order.cancelled', 'cancelled', '0.00', null],
    ])
    expect(messages[6]?.[1]).to.deep.equal((await company.get(`/orders/${id}`)).body.data)
    const open = (await company.get(`/orders/${await placedOrder(company, alias)}`)).body.data
    const [last] = (await queued(named)).slice(-1).map(({ body }) => JSON.parse(body).data)
    expect(last).to.deep.equal(open)
    await expectToldAlike()
    expect(open.payment_url).to.include(`/pagar/${alias}/${open.id}-`)
    expect(messages[4]?.[1].payment_url).to.equal(null)
    expect((await queued(basic)).map(({ event }) => event)).to.deep.equal(['sale.completed', 'sale.cancelled'])
    expect(messages[1]?.[1].sale_id).to.equal(JSON.parse((await queued(basic))[0]?.body ?? '').data.id)
  })
})

const url = 'https://erp.example/eventos'

describe('webhook outbox: scopes', () => {
  const { api, company, queued, customer } = useOutbox()

  const caller = (key: string) => (method: string, path: string, body?: object) =>
    send(`${api.url}/api/v1${path}`, method, body, { authorization: `Bearer ${key}` })

  it('a key with webhooks:manage only receives nothing, by replay either [HOOK-50, HOOK-26]', async () => {
    await customer('Ana')
    const call = caller((await company.newKey(['webhooks:manage'])).key)
    const { id } = (await call('POST', '/webhooks', { url, events: ['basic'] })).body.data
    await customer('Bia')
    expect((await call('POST', `/webhooks/${id}/replay`, {})).body.data.deliveries).to.equal(0)
    expect(await queued(id)).to.deep.equal([])
  })

  for (const [group, events] of [
    ['*', ['customer.created', 'customer.deleted']],
    ['basic', ['customer.created']],
  ] as const)
    it(`\`${group}\` covers the events that the key may read [HOOK-50]`, async () => {
      const call = caller((await company.newKey(['webhooks:manage', 'customers:read'])).key)
      const { id } = (await call('POST', '/webhooks', { url, events: [group] })).body.data
      const ana = (await company.post('/customers', { name: `Ana ${group}` })).body.data
      await company.post('/catalog/items', { type: 'product', name: 'Pão', price: '1.00' })
      await company.call('DELETE', `/customers/${ana.id}`)
      expect((await queued(id)).map(({ event }) => event)).to.deep.equal(events)
    })

  it('endpoints of a revoked key pause, and continue with a new owner [HOOK-53, HOOK-54]', async () => {
    const first = await company.newKey(['webhooks:manage', 'customers:read'])
    const { id } = (await caller(first.key)('POST', '/webhooks', { url, events: ['basic'] })).body.data
    await company.run(revokeApiKey, { id: first.id })
    await customer('Ana')
    const shown = (await company.get(`/webhooks/${id}`)).body.data
    expect(shown).to.include({ api_key_id: first.id, status: 'paused', pause_reason: 'key_revoked' })
    expect((await company.get('/webhooks')).body.data).to.deep.equal([shown])
    const taken = await company.post(`/webhooks/${id}/take-over`)
    expect(taken.status, taken.text).to.equal(200)
    expect(taken.body.data).to.include({ status: 'active', pause_reason: null })
    expect((await queued(id)).map(({ status, event }) => [status, event])).to.deep.equal([
      ['pending', 'customer.created'],
    ])
    await customer('Bia')
    expect(await queued(id)).to.have.length(1)
  })
})
