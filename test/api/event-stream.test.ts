import { expect } from 'chai'
import { revokeApiKey } from '#commands/api-key-commands.ts'
import type { Scope } from '#domain/rights.ts'
import type { TestCompany } from '../support/api.ts'
import { useApi } from '../support/use-api.ts'

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
