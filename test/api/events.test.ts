import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { mock } from 'node:test'
import { expect } from 'chai'
import { eventStreamRoute } from '#api/v1/event-routes.ts'
import { createUser } from '#commands/user-commands.ts'
import { revokeApiKey } from '#commands/webhook-commands.ts'
import type { Scope } from '#domain/rights.ts'
import { appenderFrom, isConsistent, isIncluded, leafHash, type TreeHead } from '#integrity/merkle.ts'
import {
  type Checkpoint,
  openNote,
  parseCheckpoint,
  parseVkey,
  type VerifierKey,
  verifierKey,
} from '#integrity/note.ts'
import { hashEnvelope } from '#ledger/command.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import { Unavailable } from '#lib/errors.ts'
import { expectInvalid, expectProblem } from '../support/answers.ts'
import { FOREIGN_IDS, type Json, type Reply, type TestCompany } from '../support/api.ts'
import { tamperBy } from '../support/tamper.ts'
import { useApi } from '../support/use-api.ts'
import { until } from '../support/wait.ts'

/** Unused id. */
const MISSING = 9_000_001

/** All pages of a list. */
async function pagesOf(company: TestCompany, path: string): Promise<Reply[]> {
  const pages: Reply[] = []
  let cursor: string | null = null
  do {
    const separator = path.includes('?') ? '&' : '?'
    const page = await company.get(cursor === null ? path : `${path}${separator}cursor=${cursor}`)
    expect(page.status, page.text).to.equal(200)
    pages.push(page)
    cursor = page.body.meta.next_cursor
  } while (cursor !== null)
  return pages
}

const leafOf = (hash: string) => leafHash(Buffer.from(hash, 'hex'))
const bytesOf = (base64: string) => Buffer.from(base64, 'base64')

function treeOf(events: readonly Json[]): TreeHead {
  const appender = appenderFrom()
  for (const { hash } of events) appender.append(leafOf(hash))
  return { size: appender.size, root: appender.root() }
}

const eventsIn = (pages: readonly Reply[]): Json[] => pages.flatMap(({ body }) => body.data)
const headOf = (reply: Reply): number => Number(reply.headers.get('x-ledger-revision'))

describe('event feed', () => {
  const api = useApi()
  let company: TestCompany

  before(async () => {
    company = await api.company()
    for (const name of ['Ana', 'Bia', 'Caio']) await company.post('/customers', { name })
    await company.call('DELETE', `/customers/${(await company.get('/customers')).body.data[0].id}`)
  })

  it('contains the ledger from its first event to the revision in the header, in order, as hashed [FEED-1]', async () => {
    const pages = await pagesOf(company, '/events?limit=2')
    const events = eventsIn(pages)
    expect(events.map(({ revision }) => revision)).to.deep.equal(events.map((_, n) => n))
    expect(events.length - 1).to.equal(headOf(pages.at(-1) as Reply))
    let previous = '0'.repeat(64)
    for (const { hash, ...rest } of events) {
      expect(rest.previous_hash).to.equal(previous)
      expect(hashEnvelope(rest)).to.equal(hash)
      previous = hash
    }
    for (const { body } of pages.slice(0, -1)) expect(body.data).to.have.length(2)
  })

  it('shows the stored bytes [FEED-1]', async () => {
    const { text } = await company.get('/events?limit=200')
    const { rows } = await api.core.pool.query<{ json: string }>(
      'select envelope::text as json from ledger.events where stream = $1 order by revision',
      [`company-${company.id}`],
    )
    expect(text).to.match(/^\{"data":\[/)
    expect(text.slice('{"data":['.length)).to.satisfy((rest: string) =>
      rest.startsWith(`${rows.map(({ json }) => json).join(',')}],"meta":`),
    )
  })

  describe('with opened=true', () => {
    const opened = async (of: TestCompany, subject: string) =>
      eventsIn([await of.get(`/events?opened=true&limit=200&subject=${subject}`)]).map((event) => event.opened)

    it('adds the clear text of each event; the rest stays as hashed [LEDGER-43]', async () => {
      const { id } = (await company.post('/customers', { name: 'Rita', phone: '11988887777', email: 'r@r.example' }))
        .body.data
      const [sealed] = eventsIn([await company.get(`/events?subject=customer/${id}`)])
      const [event] = eventsIn([await company.get(`/events?subject=customer/${id}&opened=true`)])
      expect(sealed.data.name).to.have.keys('sealed')
      expect(JSON.stringify(sealed)).not.to.include('Rita')
      expect(event).to.deep.equal({ ...sealed, opened: event.opened })
      expect(event.opened).to.deep.equal({ ...sealed.data, name: 'Rita', phone: '11988887777', email: 'r@r.example' })
      expect((await company.get(`/customers/${id}/history`)).body.data[0].data).to.deep.equal(event.opened)
      expect(eventsIn([await company.get(`/events?subject=customer/${id}&opened=false`)])).to.deep.equal([sealed])
      expectInvalid(await company.get('/events?opened=1'), ['opened'])
    })

    it('shows null for erased parts, and never shows users [LEDGER-41, LEDGER-43]', async () => {
      const { id } = (await company.post('/customers', { name: 'Sara', phone: '11988887777' })).body.data
      await api.core.pool.query(
        `update ops.person_keys set wrapped = null, destroyed_at = now() where subject = $1 and part = 'contact'`,
        [`customer/${id}`],
      )
      expect(await opened(company, `customer/${id}`)).to.have.nested.property('[0].phone', null)
      expect(await opened(company, `customer/${id}`)).to.have.nested.property('[0].name', 'Sara')
      const user = { name: 'Caixa', email: 'caixa@loja.example', role: 'clerk', password_hash: '' } as const
      await runAsSystem(api.core.writer, company.id, createUser, user)
      const users = eventsIn([await company.get('/events?opened=true&types=UserCreated')])
      for (const { opened } of users) expect(opened).to.include({ name: null, email: null })
      expect(users).not.to.deep.equal([])
    })

    it('shows a key the kinds of persons in its scopes, in histories too [LEDGER-43]', async () => {
      const shop = await api.company({ scopes: ['audit:read', 'customers:write', 'suppliers:write', 'suppliers:read'] })
      const { id } = (await shop.post('/customers', { name: 'Tina' })).body.data
      const supplier = (await shop.post('/suppliers', { name: 'Moinho' })).body.data
      expect(await opened(shop, `customer/${id}`)).to.have.nested.property('[0].name', null)
      expect(await opened(shop, `supplier/${supplier.id}`)).to.have.nested.property('[0].name', 'Moinho')
      const [created] = (await shop.get(`/customers/${id}/history`)).body.data
      expect(created.data.name).to.equal(null)
    })
  })

  it('resumes after a revision, exclusive, and is empty at the end', async () => {
    const all = eventsIn(await pagesOf(company, '/events'))
    expect(eventsIn([await company.get('/events?after=2')])).to.deep.equal(all.slice(3))
    expect(eventsIn([await company.get('/events?after=-1')])).to.deep.equal(all)
    for (const after of [all.length - 1, all.length + 1000]) {
      const { body } = await company.get(`/events?after=${after}`)
      expect(body).to.deep.include({ data: [] })
      expect(body.meta).to.include({ has_more: false, next_cursor: null })
    }
  })

  it('filters by types, or by one record', async () => {
    const all = eventsIn(await pagesOf(company, '/events'))
    const types = ['CustomerDeleted', 'CustomerCreated']
    const typed = eventsIn(await pagesOf(company, `/events?types=${types}&limit=1`))
    expect(typed).to.deep.equal(all.filter(({ type }) => types.includes(type)))
    expect(typed).to.have.length(4)
    const [{ subject }] = typed
    const about = eventsIn(await pagesOf(company, `/events?subject=${subject}&limit=1`))
    expect(about).to.deep.equal(all.filter((event) => event.subject === subject))
    const both = eventsIn(await pagesOf(company, `/events?subject=${subject}&types=CustomerDeleted`))
    expect(both.map(({ type }) => type)).to.deep.equal(['CustomerDeleted'])
    expect(eventsIn([await company.get('/events?types=SaleCompleted')])).to.deep.equal([])
    expect(eventsIn([await company.get(`/events?subject=sale/${MISSING}`)])).to.deep.equal([])
  })

  it('keeps its position while events are added, and its cursor requires the same filters', async () => {
    const shop = await api.company()
    const first = await shop.get('/events?limit=1')
    const { next_cursor } = first.body.meta
    await shop.post('/customers', { name: 'Nova' })
    const second = await shop.get(`/events?limit=1&cursor=${next_cursor}`)
    expect(second.body.data[0].revision).to.equal(first.body.data[0].revision + 1)
    for (const query of ['types=CustomerCreated', 'after=0', 'subject=customer/1'])
      expectInvalid(await shop.get(`/events?${query}&cursor=${next_cursor}`), ['cursor'])
  })

  it('refuses unknown types, malformed subjects and revisions, and unknown parameters', async () => {
    for (const types of ['Nope', '', 'SaleCompleted,', 'toString', 'SaleCompleted, SaleCancelled'])
      expectInvalid(await company.get(`/events?types=${types}`), ['types'])
    for (const subject of ['', 'sale', 'sale/', 'sale/0', 'sale/x', 'nope/1', 'sale/1/2', ' sale/1', 'sale/1e3'])
      expectInvalid(await company.get(`/events?subject=${subject}`), ['subject'])
    for (const after of ['', '-2', '1.5', 'x', '99999999999999999999'])
      expectInvalid(await company.get(`/events?after=${after}`), ['after'])
    expectInvalid(await company.get('/events?since=1'), [], ['since'])
    expectInvalid(await company.get('/events?limit=201'), ['limit'])
    expectInvalid(await company.get('/events?cursor=x'), ['cursor'])
  })

  it('shows a company its own events only [FEED-1]', async () => {
    const other = await api.company()
    const events = eventsIn(await pagesOf(other, '/events'))
    expect(new Set(events.map(({ stream }) => stream))).to.deep.equal(new Set([`company-${other.id}`]))
    const theirs = await company.get('/customers')
    expect(eventsIn([await other.get(`/events?subject=customer/${theirs.body.data[0].id}`)])).to.deep.equal([])
  })

  describe('of one record', () => {
    it('is its history, oldest first, in pages, deleted records included', async () => {
      const { id } = (await company.post('/customers', { name: 'Dora' })).body.data
      for (const notes of ['a', 'b', 'c']) await company.call('PATCH', `/customers/${id}`, { notes })
      await company.call('DELETE', `/customers/${id}`)
      expect((await company.get(`/customers/${id}`)).body.data.deleted_at).to.be.a('string')
      const pages = await pagesOf(company, `/customers/${id}/history?limit=2`)
      expect(pages).to.have.length(3)
      const types = eventsIn(pages).map(({ type }) => type)
      expect(types).to.deep.equal(['CustomerCreated', ...Array(3).fill('CustomerUpdated'), 'CustomerDeleted'])
      expect(eventsIn(pages).every(({ subject }) => subject === `customer/${id}`)).to.equal(true)
      expect(headOf(pages[0] as Reply)).to.equal(eventsIn(pages).at(-1).revision)
      expectInvalid(await company.get(`/customers/${id}/history?after=1`), [], ['after'])
    })

    it('is 404 for a missing record, with the same bytes as for another company’s', async () => {
      const other = await api.company({ idsFrom: FOREIGN_IDS })
      const { id } = (await other.post('/customers', { name: 'Eva' })).body.data
      const ask = async (asked: number | string) => {
        const reply = await company.get(`/customers/${asked}/history`)
        expectProblem(reply, 404, 'not_found')
        return reply.text.replaceAll(reply.headers.get('x-request-id') ?? '', '')
      }
      expect(await ask(id)).to.equal(await ask(MISSING))
      for (const path of ['x', '0', '1e3', '-1']) await ask(path)
      // Same number, different kind.
      expectProblem(await other.get(`/suppliers/${id}/history`), 404, 'not_found')
    })
  })
})

describe('GET /events/verify, and proofs', () => {
  const api = useApi()

  it('reports an untouched ledger as valid, with its last revision [FEED-4]', async () => {
    const company = await api.company()
    const reply = await company.get('/events/verify')
    const events = eventsIn(await pagesOf(company, '/events'))
    const { revision, hash } = events.at(-1)
    const root = treeOf(events).root.toString('base64')
    const whole = { valid: true, checked: revision + 1, revision, hash, root, first_error: null }
    expect(reply.body.data).to.deep.equal(whole)
    expect(headOf(reply)).to.equal(revision)
  })

  it('resumes after a verified position, and refuses half a position [FEED-4]', async () => {
    const company = await api.company()
    const events = eventsIn(await pagesOf(company, '/events'))
    const [first] = events
    const on = (await company.get(`/events/verify?after=0&hash=${first.hash}`)).body.data
    expect(on).to.include({ valid: true, checked: events.length - 1, revision: events.length - 1 })
    const elsewhere = (await company.get(`/events/verify?after=0&hash=${'a'.repeat(64)}`)).body.data
    expect(elsewhere).to.deep.include({ valid: false, first_error: { revision: 1, reason: 'broken_chain' } })
    const last = events.at(-1)
    const end = (await company.get(`/events/verify?after=${last.revision}&hash=${last.hash}`)).body.data
    expect(end).to.deep.equal({
      valid: true,
      checked: 0,
      revision: last.revision,
      hash: last.hash,
      root: null,
      first_error: null,
    })
    for (const query of ['after=0', `hash=${first.hash}`])
      expectInvalid(await company.get(`/events/verify?${query}`), ['hash'])
    expectInvalid(await company.get('/events/verify?after=0&hash=xyz'), ['hash'])
  })

  it('reports where a ledger was altered [FEED-4]', async () => {
    const company = await api.company()
    await tamperBy(
      api.core.pool,
      `update ledger.events set envelope = replace(envelope::text, 'Loja', 'Loka')::json where stream = $1 and revision = 0`,
      [`company-${company.id}`],
    )
    expect((await company.get('/events/verify')).body.data).to.deep.equal({
      valid: false,
      checked: 0,
      revision: -1,
      hash: '0'.repeat(64),
      root: null,
      first_error: { revision: 0, reason: 'wrong_hash' },
    })
  })

  it('shares one verification among equal requests, and refuses another with 503', async () => {
    const company = await api.company()
    const [{ hash }] = eventsIn(await pagesOf(company, '/events'))
    const paths = ['/events/verify', '/events/verify', `/events/verify?after=0&hash=${hash}`]
    const replies = await Promise.all(Array.from({ length: 12 }, (_, n) => company.get(paths[n % 3] as string)))
    for (const reply of replies) {
      if (reply.status === 200) expect(reply.body.data.valid).to.equal(true)
      else {
        expectProblem(reply, 503, 'unavailable')
        expect(reply.headers.get('retry-after')).to.match(/^\d+$/)
      }
    }
    expect(replies.filter(({ status }) => status === 200)).to.not.be.empty
  })
  it('proves each event in a signed checkpoint, and that the ledger is append-only [PROOF-7, PROOF-8]', async () => {
    const company = await api.company()
    for (const path of ['/events/checkpoint', '/events/checkpoint/place'])
      expectProblem(await company.get(path), 404, 'not_found')
    const made = (await company.get('/events/checkpoint?fresh=true')).body.data
    await company.post('/customers', { name: 'Ana' })
    const events = eventsIn(await pagesOf(company, '/events'))
    const { publicKey } = parseVkey((await api.core.proof.keys())[0]?.vkey ?? '') as VerifierKey
    const origin = made.note.slice(0, made.note.indexOf('\n'))
    const signed = openNote(made.note, [verifierKey(origin, publicKey)])
    const checkpoint = parseCheckpoint(signed?.text ?? '') as Checkpoint
    expect(checkpoint.origin).to.match(new RegExp(`/company-${company.id}$`))
    expect(checkpoint.root.equals(treeOf(events.slice(0, checkpoint.size)).root)).to.equal(true)
    for (const { revision, hash } of events) {
      const { data } = (await company.get(`/events/${revision}/proof`)).body
      const isCovered = revision < checkpoint.size
      expect(data).to.include({ revision, hash, checkpoint: isCovered ? made.note : null })
      const head = isCovered ? checkpoint : treeOf(events)
      expect(isIncluded(leafOf(hash), { index: revision, ...head }, data.hashes.map(bytesOf))).to.equal(true)
    }
    const grown = await company.get(`/events/consistency?from=${checkpoint.size}`)
    expect(grown.body.data).to.include({ from: checkpoint.size, to: events.length, from_root: made.root })
    expect(isConsistent(checkpoint, treeOf(events), grown.body.data.hashes.map(bytesOf))).to.equal(true)
    expect(headOf(grown)).to.equal(events.length - 1)
    expect((await company.get('/events/checkpoint')).body.data).to.deep.equal(made)
  })

  it('proves nothing beyond the ledger, or of another company [PROOF-7]', async () => {
    const [company, other] = [await api.company(), await api.company()]
    const size = eventsIn(await pagesOf(company, '/events')).length
    await other.post('/customers', { name: 'Eva' })
    for (const revision of [size, '-1', '01', '1e3', 'x', '9'.repeat(16)])
      expectProblem(await company.get(`/events/${revision}/proof`), 404, 'not_found')
    for (const wrong of [0, size + 1, '9'.repeat(15)])
      expectInvalid(await company.get(`/events/0/proof?size=${wrong}`), ['size'])
    expectInvalid(await company.get(`/events/consistency?from=1&to=${size + 1}`), ['to'])
    expectInvalid(await company.get('/events/consistency?from=2&to=1'), ['to'])
    expectInvalid(await company.get(`/events/consistency?from=${size + 1}`), ['from'])
    expectInvalid(await company.get('/events/consistency'), ['from'])
  })
})

interface Message {
  readonly id: number
  // biome-ignore lint/suspicious/noExplicitAny: tests look into events of many types
  readonly event: any
}

interface Told {
  readonly event: string
}

interface Ledger {
  readonly recorded_at: string
}

/** Stream as a program reads it, message by message. */
interface Stream {
  readonly status: number
  next(): Promise<Message | null>
  some(count: number): Promise<Message[]>
  close(): void
}

describe('GET /events/stream', () => {
  const api = useApi()
  const opened: Stream[] = []
  afterEach(() => {
    for (const stream of opened.splice(0)) stream.close()
  })

  async function open(key: string, query = '', headers: Record<string, string> = {}): Promise<Stream> {
    const cut = new AbortController()
    const response = await fetch(`${api.url}/api/v1/events/stream${query}`, {
      headers: { Authorization: `Bearer ${key}`, ...headers },
      signal: cut.signal,
    })
    const messages = messagesOf(response)
    const next = async () => (await messages.next()).value ?? null
    const stream = {
      status: response.status,
      next,
      async some(count: number) {
        const found: Message[] = []
        while (found.length < count) found.push((await next()) as Message)
        return found
      },
      close: () => cut.abort(),
    }
    opened.push(stream)
    return stream
  }

  async function* messagesOf({ body }: Response): AsyncGenerator<Message> {
    let rest = ''
    for await (const chunk of body ?? []) {
      const blocks = `${rest}${Buffer.from(chunk).toString()}`.split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const [, id, data] = /^id: (\d+)\ndata: (.+)$/.exec(block) ?? []
        if (id && data) yield { id: Number(id), event: JSON.parse(data) }
      }
    }
  }

  const register = async (company: TestCompany, name: string) =>
    (await company.post('/catalog/categories', { name })).body.data.id as number

  it('sends existing events, then new ones, in the order and format of /events [FEED-10]', async () => {
    const company = await api.company()
    await register(company, 'Bebidas')
    const { body } = await company.get('/events')
    const stream = await open(company.key)
    expect((await stream.some(body.data.length)).map(({ event }) => event)).to.deep.equal(body.data)
    for (const name of ['Padaria', 'Limpeza']) {
      await register(company, name)
      const message = (await stream.next()) as Message
      expect(message.event).to.deep.include({ type: 'CategoryCreated', revision: message.id })
      expect(message.event.data.name).to.equal(name)
    }
  })

  it('resumes after a revision, or after the reader’s last event [FEED-10]', async () => {
    const company = await api.company()
    for (let n = 0; n < 3; n++) await register(company, `Categoria ${n}`)
    const all = (await company.get('/events')).body.data as { revision: number }[]
    const last = all.at(-1)!.revision
    expect((await (await open(company.key, `?after=${last - 2}`)).some(2)).map(({ id }) => id)).to.deep.equal([
      last - 1,
      last,
    ])
    const again = await open(company.key, '?after=-1', { 'Last-Event-ID': String(last - 1) })
    expect(await again.next()).to.include({ id: last })
  })

  it('sends a key the events of its scopes, sealed unless opened=true [FEED-12]', async () => {
    const company = await api.company()
    await register(company, 'Bebidas')
    const { id } = (await company.post('/customers', { name: 'Ana' })).body.data
    const typesTold = async (scopes: readonly Scope[], count: number, query = '') => {
      const { id: keyId, key } = await company.newKey(scopes)
      const told = (await (await open(key, query)).some(count)).map(({ event }) => event)
      await company.run(revokeApiKey, { id: keyId })
      return told
    }
    const of = (events: { subject: string }[]) => events.map(({ subject }) => subject)
    expect(of(await typesTold(['catalog:read'], 1))).to.deep.equal(['category/1'])
    expect(of(await typesTold(['customers:read', 'catalog:read'], 2))).to.deep.equal(['category/1', `customer/${id}`])
    const [sealed] = await typesTold(['customers:read'], 1)
    expect(sealed.data.name).to.have.keys('sealed')
    const [shown] = await typesTold(['customers:read'], 1, '?opened=true')
    expect(shown.opened.name).to.equal('Ana')
    const [hidden] = await typesTold(['audit:read'], 1, '?opened=true&types=CustomerCreated')
    expect(hidden.opened.name).to.equal(null)
    const { key } = await company.newKey(['sales:write'])
    expect((await open(key)).status).to.equal(403)
  })

  it('starts at an instant, and sends messages of webhooks that the key may read [KIT-10]', async () => {
    const company = await api.company()
    await company.post('/customers', { name: 'Ana' })
    await register(company, 'Bebidas')
    const [first, last] = (
      (await company.get('/events?types=CustomerCreated,CategoryCreated')).body.data as Ledger[]
    ).map(({ recorded_at }) => encodeURIComponent(recorded_at))
    const names = async (key: string, query: string, count: number) =>
      (await (await open(key, query)).some(count)).map(({ event }) => event.messages.map((told: Told) => told.event))
    const { key } = await company.newKey(['catalog:read', 'audit:read'])
    expect(await names(company.key, `?messages=true&since=${first}`, 2)).to.deep.equal([
      ['customer.created'],
      ['category.created'],
    ])
    expect(await names(key, `?messages=true&since=${first}`, 1)).to.deep.equal([['category.created']])
    expect((await (await open(company.key, `?since=${last}`)).next())?.event.type).to.equal('CategoryCreated')
    expect((await open(company.key, '?since=yesterday')).status).to.equal(422)
  })

  it('refuses invalid parameters, and responds to HEAD at once', async () => {
    const company = await api.company()
    for (const query of ['?after=x', '?types=Nothing', '?limit=3'])
      expect((await open(company.key, query)).status).to.equal(422)
    const head = await fetch(`${api.url}/api/v1/events/stream`, {
      method: 'HEAD',
      headers: { Authorization: `Bearer ${company.key}` },
    })
    expect(head.status).to.equal(200)
  })

  it('ends when its key ends [FEED-11]', async () => {
    const company = await api.company()
    const { id, key } = await company.newKey(['audit:read'])
    const stream = await open(key, '?types=CategoryCreated')
    await register(company, 'Bebidas')
    expect(await stream.next()).to.not.equal(null)
    await company.run(revokeApiKey, { id })
    expect(await stream.next()).to.equal(null)
  })

  it('is limited to 50 per company, independent of others [FEED-11]', async () => {
    const [company, other] = [await api.company(), await api.company()]
    const streams = await Promise.all(Array.from({ length: 50 }, () => open(company.key)))
    expect(streams.map(({ status }) => status)).to.deep.equal(Array(50).fill(200))
    expect((await open(company.key)).status).to.equal(503)
    expect((await open(other.key)).status).to.equal(200)
    await register(company, 'Para todos')
    for (const stream of streams) {
      let message = await stream.next()
      while (message && message.event.type !== 'CategoryCreated') message = await stream.next()
      expect(message?.event.data.name).to.equal('Para todos')
    }
    streams.pop()?.close()
    const status = async () => (await open(company.key)).status
    while ((await status()) !== 200);
  })
})

describe('heartbeat of an event stream', () => {
  afterEach(() => mock.timers.reset())

  it('writes nothing if the stream ends while it checks the key [FEED-11]', async () => {
    mock.timers.enable({ apis: ['setInterval'] })
    let checks = 0
    let endCheck = () => {}
    const pool = {
      async query() {
        checks += 1
        if (checks > 1) await new Promise<void>((resolve) => (endCheck = resolve))
        return { rowCount: 1 }
      },
    }
    let cut = () => {}
    const feed = {
      follow(_companyId: number, { moved }: { moved(head: number): void }) {
        moved(0)
        return () => {}
      },
      read: () => new Promise((_, reject) => (cut = () => reject(new Unavailable('the event store is away')))),
    }
    const response = new ServerResponse(new IncomingMessage(new Socket()))
    const errors: Error[] = []
    response.on('error', (error) => errors.push(error))
    // Otherwise data would count as waiting for the reader, and the heartbeat would be left out.
    Object.defineProperty(response, 'writableLength', { value: 0 })
    const caller = { companyId: 1, keyId: 1, scopes: ['audit:read'] }
    const context = { pool, feed, caller, query: {}, after: null } as never
    if (!('send' in eventStreamRoute)) throw new Error('the route sends no stream')
    const sent = eventStreamRoute.send(context, response as never)
    await until(() => checks === 1)
    await new Promise(setImmediate)
    mock.timers.tick(4_000)
    await until(() => checks === 2)
    cut()
    await sent
    endCheck()
    await new Promise(setImmediate)
    expect([response.writableEnded, errors]).to.deep.equal([true, []])
  })
})
