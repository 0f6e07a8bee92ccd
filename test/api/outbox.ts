import { expect } from 'chai'
import { v7 as uuidv7 } from 'uuid'
import { SCOPES } from '#domain/rights.ts'
import { stepReplay } from '#webhooks/replays.ts'
import { type Json, type Reply, send, type TestApi, type TestApiOptions, type TestCompany } from '../support/api.ts'
import { expectDocumentedMessage } from '../support/contract.ts'
import { useCompanyPerTest } from '../support/use-api.ts'

interface Queued {
  id: string
  event: string
  revision: number | null
  sequence: number | null
  replay: boolean
  status: string
  body: string
}

interface Message {
  readonly revision: number
  readonly event: string
  readonly body: string
}

/**
 * Company with one key that causes events, and another key that owns the endpoints, so that they receive those events.
 */
interface Outbox {
  readonly api: TestApi
  readonly company: TestCompany
  asRegistrar(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Reply>
  /** Registers an endpoint; returns its id. */
  register(events?: readonly string[]): Promise<number>
  /** Pending deliveries of an endpoint, by sequence. */
  queued(webhook: number): Promise<Queued[]>
  /** Replays all events after a revision; returns the number of deliveries. */
  replayed(webhook: number, after?: number): Promise<number>
  /** Checks that a stream of messages equals the messages for endpoints, byte by byte. */
  expectToldAlike(): Promise<void>
  customer(name: string): Promise<Json>
}

export function useOutbox(options?: TestApiOptions): Outbox {
  const { api, company } = useCompanyPerTest(options)
  let registrar: string

  beforeEach('create the key of the registrar', async () => {
    registrar = (await company.newKey([...SCOPES])).key
  })

  const asRegistrar: Outbox['asRegistrar'] = (method, path, body, headers = {}) =>
    send(`${api.url}/api/v1${path}`, method, body, { authorization: `Bearer ${registrar}`, ...headers })
  return {
    api,
    company,
    asRegistrar,
    async register(events = ['basic']) {
      const reply = await asRegistrar('POST', '/webhooks', { url: 'https://erp.example/eventos', events })
      expect(reply.status, reply.text).to.equal(201)
      return reply.body.data.id
    },
    async queued(webhook) {
      const { rows } = await api.core.pool.query<Queued>(
        `select d.id, d.event, d.revision, d.sequence, d.replay, d.status, m.body
         from webhook_deliveries d join webhook_messages m on m.company_id = d.company_id and m.id = d.message_id
         where d.company_id = $2 and d.webhook_id = $1 order by d.sequence nulls last, d.id`,
        [webhook, company.id],
      )
      for (const { event, body } of rows) if (event !== 'webhook.test') expectDocumentedMessage(event, JSON.parse(body))
      return rows
    },
    async replayed(webhook, after) {
      const reply = await asRegistrar('POST', `/webhooks/${webhook}/replay`, { after })
      expect(reply.status, reply.text).to.equal(200)
      while ((await stepReplay({ pool: api.core.pool, core: api.core, newId: uuidv7 })) !== null);
      const { status, deliveries } = (await asRegistrar('GET', `/webhooks/${webhook}/replay`)).body.data
      expect(status).to.equal('finished')
      return deliveries
    },
    async expectToldAlike() {
      const { rows: stored } = await api.core.pool.query<Message>(
        'select revision, event, body from webhook_messages where company_id = $1 order by revision, event',
        [company.id],
      )
      const told: Message[] = []
      const cut = new AbortController()
      const stream = `${api.url}/api/v1/events/stream?messages=true&after=${stored[0]!.revision - 1}`
      const headers = { Authorization: `Bearer ${registrar}` }
      for await (const { messages, revision } of streamed(await fetch(stream, { headers, signal: cut.signal }))) {
        const mine = messages.map((message) => ({ revision, ...message }))
        told.push(...mine.sort((a, b) => (a.event < b.event ? -1 : 1)))
        if (told.length >= stored.length) break
      }
      cut.abort()
      expect(told).to.deep.equal(stored)
    },
    customer: async (name) => (await company.post('/customers', { name })).body.data,
  }
}

/** Events of a stream with their messages. */
async function* streamed({ body }: Response) {
  let rest = ''
  for await (const chunk of body ?? []) {
    const blocks = `${rest}${Buffer.from(chunk).toString()}`.split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const data = /^data: (.+)$/m.exec(block)?.[1]
      if (data) yield JSON.parse(data) as { revision: number; messages: Omit<Message, 'revision'>[] }
    }
  }
}
