import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { createLogin } from '#access/login.ts'
import { createPasswordLinks } from '#access/one-time-links.ts'
import { inviteUser } from '#commands/invitation-commands.ts'
import { createStore } from '#commands/store-commands.ts'
import { resolveRefusedSale } from '#privacy/refused-sales.ts'
import { type Json, send, type TestApi, type TestCompany } from '../support/api.ts'
import type { MemoryProvider } from '../support/memory-provider.ts'
import { openCounter } from '../support/offline-sales.ts'
import { panelUser } from '../support/panel.ts'
import { createTestUser, openTill } from '../support/till.ts'

/** Unique lower-case texts to search for; their letters keep them from matching ids and hashes. */
export function createMarkers() {
  const all: string[] = []
  const shown: string[] = []
  const add = (text: string): string => {
    all.push(text.toLowerCase())
    return text
  }
  let count = 0
  const word = (what: string): string => add(`zq${what}${++count}zq`)
  /** CPF, as stored and as formatted. */
  const cpf = (): string => {
    const body = `7770${String(++count).padStart(5, '0')}`
    const digits = [0, 1].reduce((known) => known + checkDigit(known), body)
    add(digits)
    shown.push(digits.replace(/(...)(...)(...)(..)/, '$1.$2.$3-$4'))
    return digits
  }
  const phone = (): string => add(`118880${String(++count).padStart(5, '0')}`)
  return { all, shown, word, cpf, phone, email: () => add(`zq${++count}@zq${count}.example`) }
}

function checkDigit(digits: string): number {
  const sum = [...digits].reduce((total, digit, place) => total + Number(digit) * (digits.length + 1 - place), 0)
  return ((sum * 10) % 11) % 10
}

type Markers = ReturnType<typeof createMarkers>

const person = ({ word, cpf, phone, email }: Markers) => ({
  name: word('nome'),
  person_type: 'PF',
  document: cpf(),
  phone: phone(),
  email: email(),
  address: {
    zip: '01310100',
    street: word('rua'),
    number: word('n'),
    complement: word('compl'),
    district: word('bairro'),
    city: word('cidade'),
    state: 'SP',
  },
  notes: word('notas'),
})

/** As programs send it. */
const sentPerson = (markers: Markers) => ({ ...person(markers), metadata: { nota: markers.word('meta') } })

export interface MarkedCompany {
  readonly company: TestCompany
  /** Persons to erase, customers first. */
  readonly subjects: string[]
  /** Ledger revision before the erasures. */
  readonly revision: number
  /** Repeats an earlier request about a person. */
  repeat(): Promise<{ readonly status: number; readonly text: string }>
  /** Uploads a sale of a customer that is refused, with a text, as a till does after an absence. */
  refuse(text: string): Promise<void>
}

interface Opening {
  readonly api: TestApi
  readonly provider: MemoryProvider
  readonly markers: Markers
  /** Markers of data that is in no record. */
  readonly unkept: Markers
  readonly webhookUrl: string
  /** Runs the command line. */
  run(...words: string[]): Promise<Json>
}

const created = (reply: { status: number; text: string; body: Json }): Json => {
  // Changes are 200, creations 201.
  expect(reply.status, reply.text).to.be.oneOf([200, 201])
  return reply.body.data
}

/** Company with persons from every interface, with a marker in every personal field. */
export async function openMarkedCompany({
  api,
  provider,
  markers,
  unkept,
  webhookUrl,
  run,
}: Opening): Promise<MarkedCompany> {
  const { word, email } = markers
  const company = await api.company()
  created(await company.post('/webhooks', { url: webhookUrl, events: ['basic'] }))
  const counter = await openCounter(company)

  // API: a POST with a key, a changed, a deleted and a batch record.
  const body = sentPerson(markers)
  const key = { 'Idempotency-Key': 'um-cliente' }
  const customer = created(await company.post('/customers', body, key))
  created(await company.call('PATCH', `/customers/${customer.id}`, { ...sentPerson(markers), person_type: 'PF' }))
  const deleted = created(await company.post('/customers', sentPerson(markers)))
  expect((await company.call('DELETE', `/customers/${deleted.id}`)).status).to.equal(204)
  const batch = await company.post(
    '/customers/batch',
    { items: [{ external_id: 'lote', ...sentPerson(markers) }] },
    {
      'Idempotency-Key': 'um-lote',
    },
  )
  expect(batch.status, batch.text).to.equal(200)
  const inBatch = created(await company.get('/customers/by-external/lote'))
  const supplier = created(
    await company.post(
      '/suppliers',
      { ...sentPerson(markers), trade_name: word('fantasia') },
      { 'Idempotency-Key': 'um-fornecedor' },
    ),
  )

  // Sales and accounts of these persons.
  const metadata = () => ({ nota: word('meta') })
  await counter.sell({ customer_id: customer.id, external_id: 'venda-1', metadata: metadata() })
  const receivable = { description: 'Fiado', amount: '10.00', due_date: '2030-01-10' }
  created(
    await company.post(
      '/finance/receivables',
      { ...receivable, customer_id: customer.id, metadata: metadata() },
      { 'Idempotency-Key': 'um-fiado' },
    ),
  )
  created(await company.post('/finance/payables', { ...receivable, supplier_id: supplier.id, metadata: metadata() }))

  // Till: recorded and refused sales of a customer, with the other data that a till sends.
  const cashier = await createTestUser(company)
  const till = await openTill(api.url, company, cashier)
  const unpaid = { total: 11, customer_id: inBatch.id, customer_name: word('caixa'), cpf: word('cpf') }
  const upload = await till.post('/sync/sales', {
    sales: [
      { ...counter.onAccount('pdv-fiado'), customer_id: inBatch.id },
      { ...counter.sale('pdv-recusada'), ...unpaid },
      { ...counter.sale('pdv-resolvida'), ...unpaid, note: word('bilhete') },
    ],
  })
  expect(upload.body.summary, upload.text).to.include({ success_count: 1, error_count: 2 })
  const { rows } = await api.core.pool.query<{ id: number }>(
    "select id from refused_sales where offline_id = 'pdv-resolvida' and company_id = $1",
    [company.id],
  )
  const note = `cliente ${word('resolvido')}`
  expect(await resolveRefusedSale(api.core.pool, company.id, rows[0]?.id ?? 0, { userId: cashier.id, note })).to.equal(
    true,
  )

  // Orders of a guest and of a customer, paid, with notifications of the provider.
  const alias = `loja-${company.id}`
  await company.run(createStore, { alias, commission_percentage: '5', sandbox: true, access_token: 'TEST-token' })
  const items = [{ description: 'Cesta', quantity: '1', unit_price: '46.30' }]
  const buyer = () => ({ name: word('comprador'), email: email(), document: markers.cpf() })
  const order = created(
    await company.post('/orders', { store_alias: alias, customer: buyer(), items }, { 'Idempotency-Key': 'um-pedido' }),
  )
  const ofCustomer = created(
    await company.post('/orders', {
      store_alias: alias,
      customer_id: customer.id,
      customer: buyer(),
      items,
      metadata: metadata(),
    }),
  )
  for (const [id, details, method] of [
    [
      order.id,
      { pix: { qr_code: 'q', qr_code_base64: null, ticket_url: `https://x.example/${word('bilhete')}` } },
      { method: 'pix' },
    ],
    [ofCustomer.id, { card: { last_four: '9', installments: 1 } }, { method: 'card', brand: 'visa', token: 't' }],
  ] as const) {
    provider.status = method.method === 'pix' ? 'pending' : 'approved'
    provider.twist((charge) => Object.assign(charge(), { details }))
    const paid = await company.post(
      `/orders/${id}/payments`,
      { ...method, payer: { email: unkept.email(), name: unkept.word('pagador'), document: unkept.cpf() } },
      { 'Idempotency-Key': `pagar-${id}` },
    )
    expect(paid.status, paid.text).to.equal(201)
    const payment = provider.payments.at(-1)
    const told = { id: 1, type: 'payment', live_mode: false, data: { id: payment?.id }, payer: { email: email() } }
    await send(`${api.url}/webhook/paymentprovider/${alias}/${id}`, 'POST', told)
  }

  // Panel: a customer, an invitation. Command line: a user, who logs in and requests a new password.
  const owner = await panelUser(api, company)
  const { address, person_type, ...fields } = person(markers)
  const flat = Object.fromEntries(Object.entries(address).map(([name, value]) => [`address.${name}`, value]))
  const typed = { ...fields, person_type, ...flat }
  const panel = await owner.submit('/painel/clientes/novo', typed, '/painel/clientes')
  expect(panel.status, panel.html).to.equal(303)
  const byPanel = Number(/clientes\/(\d+)/.exec(panel.to ?? '')?.[1])
  const hash = createHash('sha256').update('convite').digest()
  const invited = await company.run(inviteUser, {
    name: word('convidado'),
    email: email(),
    role: 'clerk',
    token_hash: hash,
  })
  const login = { email: email(), password: 'uma senha comprida' }
  const words = ['--company', String(company.id), '--name', word('usuario'), '--role', 'clerk']
  const user = await run('user', 'create', ...words, '--email', login.email, '--password', login.password)
  expect((await send(`${api.url}/api/auth/login`, 'POST', login)).status).to.equal(200)
  await askForPassword(api, login.email)

  return {
    company,
    revision: Number((await company.get('/events')).headers.get('x-ledger-revision')),
    subjects: [
      ...[customer.id, deleted.id, inBatch.id, byPanel].map((id) => `customer/${id}`),
      ...[order.id, ofCustomer.id].map((id) => `order/${id}`),
      `supplier/${supplier.id}`,
      ...[user.id, invited.id].map((id) => `user/${id}`),
    ],
    repeat: () => company.post('/customers', body, key),
    async refuse(text) {
      const sale = { ...counter.sale('pdv-tarde'), total: 11, customer_id: inBatch.id, customer_name: text }
      const { body } = await till.post('/sync/sales', { sales: [sale] })
      expect(body.summary).to.include({ error_count: 1 })
    },
  }
}

/** The e-mail is sent once the link is stored. */
function askForPassword({ core: { pool, writer } }: TestApi, email: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const send = async (): Promise<string[]> => {
      resolve()
      return []
    }
    const mailer = { send, close: () => {} }
    const log = (_message: string, error: unknown) => reject(error)
    createPasswordLinks({ pool, writer, login: createLogin(pool), mailer, publicUrl: 'https://x.example', log }).ask(
      email,
    )
  })
}
