import { expect } from 'chai'
import type { SandboxPayment } from '#demo/provider-sandbox/sandbox-book.ts'
import type { Core } from '#service/core.ts'
import { type Json, send } from '../support/api.ts'
import type { Received } from '../webhooks/receiver.ts'
import { type Book, SIDES } from './book.ts'
import type { Caller } from './caller.ts'
import type { PlayedCompany } from './companies.ts'
import { expectDeliveries } from './deliveries.ts'
import { expectLedger } from './ledger.ts'

/** Input of the final checks, after every fault was repaired. */
export interface Aftermath {
  /** URL of the service, and a separate core on the same database. */
  readonly url: string
  readonly core: Core
  readonly caller: Caller
  readonly payments: () => readonly SandboxPayment[]
  /** Requests received by the shops' webhook receiver. */
  readonly received: readonly Received[]
}

/** Asserts every guarantee that must survive a crash. */
export async function expectWhole(aftermath: Aftermath, books: ReadonlyMap<PlayedCompany, Book>): Promise<void> {
  expect(aftermath.caller.strange).to.deep.equal([])
  for (const [shop, book] of books) {
    await expectLedger(aftermath.core, shop, book)
    await expectTables(aftermath, shop, book)
    await expectReplays(aftermath, book)
    await expectSubmittedOnce(aftermath, book)
    await expectVerified(aftermath, shop)
    await expectDeliveries(aftermath.core, shop, aftermath.received)
    expectCharges(aftermath.payments(), book)
  }
  const { parity } = await aftermath.core.rebuild()
  expect(parity).to.be.an('array').that.is.not.empty
  expect(parity?.filter(({ equal }) => !equal)).to.deep.equal([])
}

const bearer = ({ key }: PlayedCompany) => ({ authorization: `Bearer ${key}` })

async function pages({ url }: Aftermath, shop: PlayedCompany, path: string): Promise<Json[]> {
  const all: Json[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`
    const reply = await send(`${url}/api/v1${path}?limit=200${query}`, 'GET', undefined, bearer(shop))
    expect(reply.status, reply.text).to.equal(200)
    all.push(...reply.body.data)
    cursor = reply.body.meta.next_cursor
  }
  return all
}

/** Asserts that API responses equal the recorded answers. */
async function expectTables(aftermath: Aftermath, shop: PlayedCompany, book: Book): Promise<void> {
  const sales = await pages(aftermath, shop, '/sales')
  expect(sales.map(({ id }) => id)).to.have.members([
    ...book.sales.keys(),
    ...book.orderSales.keys(),
    ...[...book.offline.values()].map(({ sale }) => sale),
  ])
  const isCancelled = ({ status }: Json) => status === 'cancelled'
  expect(sales.filter(isCancelled).map(({ id }) => id)).to.have.members([...book.cancelled])
  for (const side of SIDES) {
    const accounts = await pages(aftermath, shop, `/finance/${side}`)
    const told = [...book.accounts[side]].map(([id, cents]) => ({
      id,
      amount: (cents / 100).toFixed(2),
      status: book.settled[side].has(id) ? 'settled' : 'pending',
    }))
    expect(accounts.map(({ id, amount, status }) => ({ id, amount, status }))).to.have.deep.members(told)
  }
}

/** Asserts that a retry under the same key gets the same answer and changes nothing. */
async function expectReplays({ url, core }: Aftermath, { answered }: Book): Promise<void> {
  const before = await eventsOf(core)
  const waiting = answered.filter(({ reply }) => reply.status < 300).values()
  await eightAtATime(async () => {
    for (const { call, reply } of waiting) {
      const again = await send(`${url}${call.path}`, call.method, call.body, call.headers)
      expect(again.status, call.path).to.equal(reply.status)
      expect(again.headers.get('idempotent-replayed'), call.path).to.equal('true')
      expect(withoutSecret(again.body)).to.deep.equal(withoutSecret(reply.body))
    }
  })
  expect(await eventsOf(core)).to.equal(before)
}

const eightAtATime = (work: () => Promise<void>) => Promise.all(Array.from({ length: 8 }, work))

/** Asserts that the same form, sent again, redirects to the same page and changes nothing. */
async function expectSubmittedOnce({ url, core }: Aftermath, { submitted }: Book): Promise<void> {
  const before = await eventsOf(core)
  const waiting = submitted.filter(({ reply }) => reply.status === 303).values()
  await eightAtATime(async () => {
    for (const { call, reply } of waiting) {
      const again = await send(`${url}${call.path}`, call.method, call.body, call.headers, 'manual')
      expect([again.status, again.headers.get('location')], call.path).to.deep.equal([
        reply.status,
        reply.headers.get('location'),
      ])
    }
  })
  expect(await eventsOf(core)).to.equal(before)
}

/** Secrets are shown once. */
function withoutSecret(body: Json): Json {
  if (body.data?.secret === undefined) return body
  const { secret: _secret, ...data } = body.data
  return { ...body, data }
}

async function eventsOf({ pool }: Core): Promise<number> {
  const { rows } = await pool.query<{ events: number }>('select sum(revision) as events from ops.ledgers')
  return Number(rows[0]?.events)
}

async function expectVerified({ url }: Aftermath, shop: PlayedCompany): Promise<void> {
  const reply = await send(`${url}/api/v1/events/verify`, 'GET', undefined, bearer(shop))
  expect(reply.status, reply.text).to.equal(200)
  expect(reply.body.data).to.include({ valid: true, first_error: null })
}

/** Asserts one charge per paid order. */
function expectCharges(payments: readonly SandboxPayment[], { paid }: Book): void {
  for (const reference of paid.values())
    expect(payments.filter(({ external_reference }) => external_reference === reference)).to.have.length(1)
}
