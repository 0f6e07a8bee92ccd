import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import type { DemoAccess, DemoFile } from '#demo/companies/demo-seed.ts'
import { tillbook } from '../cli/tillbook.ts'
import { type Json, type Reply, send } from '../support/api.ts'
import { logIn } from '../support/till.ts'
import { until } from '../support/wait.ts'
import type { Receiver } from '../webhooks/receiver.ts'

/** Secrets and records that clients of a service hold and rely on. */
export interface Belongings {
  readonly company: DemoAccess
  readonly tillToken: string
  readonly webhook: { readonly id: number; readonly secret: string }
  /** Sale registered under an Idempotency-Key. */
  readonly sale: { readonly key: string; readonly body: Json; readonly reply: Reply }
}

/** Settings of a service and its command line. */
export type Settings = Readonly<Record<string, string>> & { readonly DATA_DIR: string }

/** Sends requests with a company's key. */
export const callAs =
  (url: string, { api_key }: Pick<DemoAccess, 'api_key'>) =>
  (method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> =>
    send(`${url}/api/v1${path}`, method, body, { authorization: `Bearer ${api_key}`, ...headers })

/** Uses every kind of secret that a service with demonstration data issues, and waits until it is idle. */
export async function gather(url: string, env: Settings, receiver: Receiver): Promise<Belongings> {
  const demo = JSON.parse(await readFile(join(env.DATA_DIR, 'demo.json'), 'utf8')) as DemoFile
  const company = demo.companies[0] as DemoAccess
  // Another key, because an endpoint receives no events of its own key.
  const wanted = ['--company', String(company.id), '--name', 'avisos', '--scopes', 'all', '--json']
  const { key: api_key } = JSON.parse(await printed(env, 'key', 'create', ...wanted))
  const call = callAs(url, { api_key })
  const registered = await call('POST', '/webhooks', { url: receiver.url, events: ['sale.completed'] })
  expect(registered.status, registered.text).to.equal(201)
  const { id, secret } = registered.body.data
  const types = (await call('GET', '/sales/payment-types')).body.data
  const body = {
    items: [{ catalog_item_external_id: 'cafe-500g', quantity: '1' }],
    payments: [{ payment_type_id: types.find(({ kind }: Json) => kind === 'cash').id, amount: '18.90' }],
  }
  const sale = { key: 'antes-da-copia', body, reply: await sell(url, company, body, 'antes-da-copia') }
  await until(async () => {
    const [delivery] = (await call('GET', `/webhooks/${id}/deliveries`)).body.data
    return delivery?.status === 'delivered'
  })
  const entered = await logIn(url, company.user)
  expect(entered.status, entered.text).to.equal(200)
  return { company, tillToken: entered.body.data.token, webhook: { id, secret }, sale }
}

export async function sell(url: string, company: DemoAccess, body: Json, key: string): Promise<Reply> {
  const reply = await callAs(url, company)('POST', '/sales', body, { 'idempotency-key': key })
  expect(reply.status, reply.text).to.equal(201)
  return reply
}

/**
 * Asserts that keys, passwords, tokens, stored responses and secrets work on the restored service as before, and that
 * it continues to sell.
 */
export async function expectBelongings(url: string, before: Belongings, receiver: Receiver): Promise<void> {
  const { company, tillToken, sale } = before
  expect((await callAs(url, company)('GET', '/me')).status).to.equal(200)
  const till = await send(`${url}/api/sync/status`, 'GET', undefined, { authorization: `Bearer ${tillToken}` })
  expect(till.status, till.text).to.equal(200)
  expect((await logIn(url, company.user)).status).to.equal(200)
  const again = await sell(url, company, sale.body, sale.key)
  expect(again.headers.get('idempotent-replayed')).to.equal('true')
  expect(again.text).to.equal(sale.reply.text)
  receiver.received.splice(0)
  const next = await sell(url, company, sale.body, 'depois-da-copia')
  expect(next.body.data.id).to.be.above(sale.reply.body.data.id)
  const [delivery] = await until(() => receiver.received.length > 0 && receiver.received)
  expectSigned(delivery as Receiver['received'][number], before.webhook.secret)
  expect(JSON.parse((delivery as Receiver['received'][number]).body).data.id).to.equal(next.body.data.id)
}

/** The check of receivers (docs/webhooks.md). */
export function expectSigned({ headers, body }: Receiver['received'][number], secret: string): void {
  const signed = createHmac('sha256', secret).update(`${headers['x-service-timestamp']}.${body}`).digest('hex')
  expect(headers['x-service-signature']).to.equal(`sha256=${signed}`)
}

/** Runs a command that must succeed, and returns its output. */
export async function printed(env: Readonly<Record<string, string>>, ...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await tillbook(env, ...words)
  expect(code, stderr + stdout).to.equal(0)
  return stdout
}
