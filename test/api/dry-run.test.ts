import { expect } from 'chai'
import { type Json, type Reply, send } from '../support/api.ts'
import { operations } from '../support/contract.ts'
import { useDatabase } from '../support/database.ts'
import { useApi } from '../support/use-api.ts'
import type { Call } from './contract/case.ts'
import { CASES } from './contract/cases.ts'
import { sendCall } from './contract/edge.ts'
import { createWorld, type World } from './contract/world.ts'

const DRY = { 'dry-run': 'true' }

/** What only the payment provider can refuse. */
const OUTSIDE = ['payment_refused', 'refund_refused', 'provider_configuration_invalid']

const INSTANT = /^\d{4}-\d\d-\d\dT/

/** Asserts that a dry run told what was then recorded: null stands for new ids, and clocks go on. */
function expectTold(told: Json, real: Json, place: string): void {
  if (told === null) expect(isIdOrEmpty(real), `${place}: ${JSON.stringify(real)}`).to.equal(true)
  else if (typeof told !== 'object') {
    if (!INSTANT.test(told) || !INSTANT.test(real)) expect(told, place).to.equal(real)
  } else expectMembers(told, real, place)
}

function expectMembers(told: Json, real: Json, place: string): void {
  expect(real, place).to.be.an(Array.isArray(told) ? 'array' : 'object')
  expect(Object.keys(told), place).to.have.members(Object.keys(real))
  for (const [name, value] of Object.entries<Json>(told)) expectTold(value, real[name], `${place}.${name}`)
}

/** A number, a UUID, a secret, or a text that names a number. */
const isIdOrEmpty = (value: unknown): boolean =>
  value === null || (Number.isSafeInteger(value) && (value as number) > 0) || /\d|^whsec_/.test(String(value))

describe('dry run of each operation', () => {
  const database = useDatabase()
  let world: World

  before(async () => {
    world = await createWorld(database.url)
  })
  after(() => world.close())

  const read = async ({ key = world.company.key }: Call, path: string): Promise<Reply> =>
    send(`${world.api.url}/api/v1${path}`, 'GET', undefined, { authorization: `Bearer ${key}` })

  const revisionOf = async (call: Call): Promise<number> =>
    Number((await read(call, '/me')).headers.get('x-ledger-revision'))

  for (const operation of operations.filter(({ method }) => method !== 'GET'))
    for (const [outcome, prepare] of Object.entries(CASES[operation.id] ?? {}))
      it(`${operation.id} tells ${outcome}, and records nothing [AGENT-1200]`, async () => {
        const call = await prepare(world)
        const before = await revisionOf(call)
        const asked = world.provider.calls.length + world.provider.refundCalls.length
        const tried = await sendCall(world, { operation, call }, { headers: { ...call.headers, ...DRY } })
        expect(await revisionOf(call)).to.equal(before)
        expect(world.provider.calls.length + world.provider.refundCalls.length).to.equal(asked)
        const real = await sendCall(world, { operation, call })
        if (OUTSIDE.includes(real.body?.error?.code) && tried.status === 200) return
        if (real.status >= 400) {
          const { request_id: _, ...problem } = tried.body.error
          expect(real.body.error).to.deep.include(problem)
          expect(tried.status).to.equal(real.status)
          return
        }
        expect(tried.status, tried.text).to.equal(200)
        const { meta } = tried.body
        expect(meta.dry_run.status).to.equal(real.status)
        const { body } = await read(call, `/events?after=${before}&opened=true&limit=200`)
        const recorded: Json[] = body.data.map(({ type, version, subject, opened }: Json) => ({
          type,
          version,
          subject,
          data: opened,
        }))
        const isOutside = meta.dry_run.requests.length > 0
        expect(meta.dry_run.events.length, tried.text).to.equal(
          isOutside ? meta.dry_run.events.length : recorded.length,
        )
        for (const [n, event] of meta.dry_run.events.entries()) expectTold(event, recorded[n], `event ${n}`)
        if (isOutside) return
        if (real.body === null) expect(tried.body.data).to.equal(null)
        else expectTold(tried.body.data, real.body.data, 'data')
        const { dry_run: _, ...rest } = meta
        const shown = { warnings: [], ...real.body?.meta }
        expectTold(rest, shown, 'meta')
      })
})

describe('dry run', () => {
  const api = useApi()

  it('takes no id, stores no answer, and shows new ids as null [AGENT-1201]', async () => {
    const company = await api.company()
    const first = await company.post('/catalog/categories', { name: 'Um' })
    const keyed = { 'idempotency-key': 'k-1' }
    for (const name of ['Dois', 'Três']) {
      const tried = await company.post('/catalog/categories', { name }, { ...DRY, ...keyed })
      expect(tried.headers.get('location')).to.equal(null)
      expect(tried.body.data).to.include({ id: null, name })
      const [event] = tried.body.meta.dry_run.events
      expect(event).to.deep.include({ type: 'CategoryCreated', subject: null })
      expect(event.data.id).to.equal(null)
    }
    const real = await company.post('/catalog/categories', { name: 'Quatro' }, keyed)
    expect([real.status, real.body.data.id]).to.deep.equal([201, first.body.data.id + 1])
    const again = await company.post('/catalog/categories', { name: 'Quatro' }, { ...DRY, ...keyed })
    expect(again.headers.get('idempotent-replayed')).to.equal('true')
    expect(again.body.meta.dry_run).to.deep.equal({ status: 201, events: [], requests: [] })
    const other = await company.post('/catalog/categories', { name: 'Cinco' }, { ...DRY, ...keyed })
    expect([other.status, other.body.error.code]).to.deep.equal([409, 'idempotency_key_reuse'])
  })

  it('shows barcodes as they are, of any digits [AGENT-1201]', async () => {
    const company = await api.company()
    // In the window of provisional ids.
    for (const barcode of ['9006913571006', '09006913571006']) {
      const tried = await company.post('/catalog/items', { name: 'Café', price: '1.00', barcode }, DRY)
      expect([tried.body.meta?.dry_run.status, tried.body.data?.barcode], tried.text).to.deep.equal([201, barcode])
      expect(tried.body.meta.dry_run.events[0].data.barcode).to.equal(barcode)
    }
  })

  it('refuses another value, and the header on a read [AGENT-1202]', async () => {
    const company = await api.company()
    for (const value of ['false', '1', 'TRUE', '']) {
      const reply = await company.post('/catalog/categories', { name: 'Um' }, { 'dry-run': value })
      expect([reply.status, Object.keys(reply.body.error.details.fields)]).to.deep.equal([422, ['Dry-Run']])
    }
    const reply = await company.get('/catalog/items', DRY)
    expect([reply.status, Object.keys(reply.body.error.details.fields)]).to.deep.equal([422, ['Dry-Run']])
    expect((await company.get('/catalog/categories')).body.data).to.deep.equal([])
  })

  it('decides the items of a batch one after the other [AGENT-1200]', async () => {
    const company = await api.company()
    const items = [{ external_id: 'a', name: 'Um' }, { external_id: 'a', name: 'Dois' }, { name: '' }]
    const { body, status } = await company.post('/catalog/categories/batch', { items }, DRY)
    expect([status, body.meta.dry_run.status, body.meta.succeeded, body.meta.failed]).to.deep.equal([200, 207, 2, 1])
    expect(body.meta.dry_run.events.map(({ type }: Json) => type)).to.deep.equal(['CategoryCreated', 'CategoryUpdated'])
    expect(body.data.map(({ id }: Json) => id)).to.deep.equal([null, null])
  })
})
