import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import * as z from 'zod'
import { type Config, SANDBOX_URL } from '#config/config.ts'
import { type DemoAccess, demoCompany, readDemoFile } from '#demo/companies/demo-seed.ts'
import { openAuthority, openWitness, serveAuthority, serveWitness } from '#demo/demo-attestors.ts'
import { startSandbox } from '#demo/provider-sandbox/sandbox-console.tsx'
import { sandboxHelp } from '#demo/provider-sandbox/sandbox-server.ts'
import { type Answer, createNarrator, type Narrator, tellOrder, tellWebhook } from '#demo/tour.ts'
import { refuseField } from '#domain/refusals.ts'
import { formatVkey, parseVkey, type VerifierKey } from '#integrity/note.ts'
import { streamName } from '#ledger/command.ts'
import { requestRefusal } from './service-client.ts'
import { parsePort, Refused, type Verbs } from './verb.ts'

/** Demonstrates a sale on a running service step by step, with real requests and answers. */
export const demoVerbs: Verbs<'demo'> = {
  demo: {
    async run(context, { url, key }) {
      const base = url ?? context.config.PUBLIC_URL
      const { store: events } = await context.core()
      const known = key === undefined ? await demoCompany(context.config) : null
      const narrator = createNarrator(base, key ?? known?.api_key ?? '', process.stdout)
      const me = await narrator.get('Show the company and limits of the API key', '/me', whoLine)
      if (me.status !== 200) throw requestRefusal(me.status, me.body?.error)
      await demonstrateSale(narrator)
      if (known) await tellWebhook(narrator, known.user)
      const store = known?.store
      if (store) await withSandbox(context.config, store, (sandbox) => tellOrder(narrator, store, sandbox))
      narrator.say(`The ledger of ${me.body.data.company.name}, last events`)
      await showLedger(narrator, events.read(streamName(me.body.data.company.id), 0))
      return undefined
    },
  },
}

/**
 * The provider sandbox of the service, which signs for the store. If none runs, starts one for the duration of `work`.
 */
async function withSandbox(
  { PAYMENT_PROVIDER_URL }: Config,
  { alias, notification_secret }: NonNullable<DemoAccess['store']>,
  work: (sandbox: { readonly url: string }) => Promise<void>,
): Promise<void> {
  // Never sends requests to the real provider: sandboxes run on this machine only.
  const url = new URL(PAYMENT_PROVIDER_URL).hostname === '127.0.0.1' ? PAYMENT_PROVIDER_URL : SANDBOX_URL
  const body = JSON.stringify({ store: alias, secret: notification_secret })
  const headers = { 'content-type': 'application/json' }
  const isRunning = await fetch(`${url}/sandbox/settings`, { method: 'PUT', headers, body })
    .then(({ ok }) => ok)
    .catch(() => false)
  if (isRunning) return work({ url })
  const sandbox = await startSandbox({ port: Number(new URL(url).port), secret: notification_secret })
  try {
    await work(sandbox)
  } finally {
    await sandbox.close()
  }
}

/** Demonstrates one item, one sale, and its further operations. */
async function demonstrateSale({ get, post }: Narrator): Promise<void> {
  const since = new Date().toISOString()
  const run = Date.now().toString(36)
  const coffee = `cafe-${run}`
  const fresh = { external_id: coffee, name: `Café torrado 500 g (${run})`, price: '18.90', stock: '10' }
  const item = await post('Create an item with a stock of 10', '/catalog/items', fresh, { show: itemLine })
  const types = await get('List the payment types', '/sales/payment-types', shortList)
  const cash = (types.body.data as { id: number; is_cash: boolean }[]).find((type) => type.is_cash)?.id
  const saleOf = (quantity: string, amount: string) => ({
    items: [{ catalog_item_external_id: coffee, quantity }],
    payments: [{ payment_type_id: cash, amount }],
  })
  const sale = { external_id: `pedido-${run}`, ...saleOf('2', '40.00') }
  const key = `demo-${run}`
  const sold = await post('Register a sale: the list price applies, the surplus of cash is change', '/sales', sale, {
    key,
  })
  const again = { key, show: replayLine }
  await post('Repeat the request after a lost response: the same sale, not a second one', '/sales', sale, again)
  await post('Sell more than the stock: refused, without a debit', '/sales', saleOf('9', '170.10'))
  const cancel = `/sales/${sold.body.data.id}/cancel`
  await post('Cancel the sale: the stock goes back', cancel, { reason: 'Cliente desistiu' }, { show: stateLine })
  await get('Show the item: its stock is back', `/catalog/items/${item.body.data.id}`, stockLine)
  await get('Poll the changes since the start of the demo', `/sales?updated_since=${since}`, shortList)
}

const whoLine = ({ body: { data } }: Answer) => ({ company: data.company, key: data.key.prefix, limits: data.limits })
const replayLine = ({ body, headers }: Answer) => ({
  'Idempotent-Replayed': headers.get('idempotent-replayed'),
  id: body.data.id,
  total: body.data.total,
})
const stateLine = ({ body }: Answer) => ({
  id: body.data.id,
  status: body.data.status,
  cancel_reason: body.data.cancel_reason,
})
const itemLine = ({ body: { data } }: Answer) => ({
  id: data.id,
  name: data.name,
  price: data.price,
  stock: data.stock,
})
const stockLine = ({ body }: Answer) => ({ id: body.data.id, stock: body.data.stock })
const shortList = ({ body }: Answer) => ({
  data: (body.data as Record<string, unknown>[]).map(({ id, name, status, fee_percentage, accepts_api }) =>
    JSON.parse(JSON.stringify({ id, name, status, fee_percentage, accepts_api })),
  ),
  ...(body.meta ? { meta: body.meta } : {}),
})

const LAST_EVENTS = 20

async function showLedger(
  narrator: Narrator,
  events: AsyncIterable<{ revision: number; type: string; subject: string; hash: string }>,
) {
  const last: string[] = []
  for await (const { revision, type, subject, hash } of events) {
    last.push(`  ${String(revision).padStart(4)}  ${type.padEnd(22)} ${subject.padEnd(18)} ${hash.slice(0, 16)}…`)
    if (last.length > LAST_EVENTS) last.shift()
  }
  narrator.print(`  rev.  type                   subject            hash\n${last.join('\n')}\n`)
}

const SANDBOX_PORT = '4000'

/** Runs until it is stopped; prints every notification and its answer. */
export const providerSandboxVerbs: Verbs<'provider-sandbox'> = {
  'provider-sandbox': {
    async run({ config }, { port = SANDBOX_PORT, secret }) {
      const sandbox = await startSandbox({
        port: parsePort(port),
        secret: secret ?? null,
        storeSecrets: await demoSecrets(config.DATA_DIR),
        log: (line) => process.stdout.write(`${line}\n`),
      })
      process.stdout.write(sandboxHelp(sandbox.url))
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      await sandbox.close()
      return undefined
    },
  },
}

/** Notification secrets of the demonstration stores, so that their notifications are valid without configuration. */
async function demoSecrets(dataDir: string): Promise<Record<string, string>> {
  const demo = await readDemoFile(join(dataDir, 'demo.json'))
  const stores = demo?.companies.flatMap(({ store }) => store ?? []) ?? []
  return Object.fromEntries(stores.map(({ alias, notification_secret }) => [alias, notification_secret]))
}

const TIME_STAMP_PORT = '4002'

/** Runs until it is stopped. */
export const timeStampAuthorityVerbs: Verbs<'time-stamp-authority'> = {
  'time-stamp-authority': {
    async run({ config }, { port = TIME_STAMP_PORT, folder }) {
      const listening = parsePort(port)
      const authority = await openAuthority({ folder: folder ?? join(config.DATA_DIR, 'time-stamp-authority') })
      const running = await serveAuthority(authority, listening)
      process.stdout.write(`SEAL_TSA_URL=${running.url}\nSEAL_TSA_CA_FILE=${authority.caFile}\n`)
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      await running.close()
      return undefined
    },
  },
}

const WITNESS_PORT = '4001'
const DEFAULT_NAME = 'witness.tillbook.example/demo'

const NAME = /^[^\s+]+$/u

const Keys = z.object({ keys: z.array(z.object({ log_vkey: z.string() })) })

/** Runs until it is stopped. */
export const witnessVerbs: Verbs<'witness'> = {
  witness: {
    async run({ config }, { log, url = config.PUBLIC_URL, port = WITNESS_PORT, name = DEFAULT_NAME, file }) {
      const listening = parsePort(port)
      const path = file ?? join(config.DATA_DIR, 'witness.json')
      const logs = keysOf(log === undefined ? await vkeysOf(url) : log.split('\n'))
      await mkdir(dirname(path), { recursive: true })
      if (!NAME.test(name)) throw new Refused(refuseField('name', 'must have neither blanks nor a plus sign'))
      const witness = await openWitness({ file: path, name, logs, now: () => new Date() })
      const running = await serveWitness(witness, listening)
      process.stdout.write(`${[...new Set(logs.map((key) => key.name))].map((each) => `cosigns ${each}\n`).join('')}`)
      process.stdout.write(`WITNESS_URLS="${running.url} ${formatVkey(witness.key)}"\n`)
      await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
      await running.close()
      return undefined
    },
  },
}

function keysOf(vkeys: readonly string[]): VerifierKey[] {
  return vkeys.map((vkey) => {
    const key = parseVkey(vkey)
    if (!key) throw new Refused(refuseField('log', `is no verification key: ${vkey}`))
    return key
  })
}

/** Public keys that a running service publishes. */
async function vkeysOf(url: string): Promise<string[]> {
  const answer = await fetch(`${url}/proof/keys`).catch(() => null)
  const keys = answer?.ok ? Keys.safeParse(await answer.json()) : null
  if (!keys?.success || keys.data.keys.length === 0)
    throw new Refused(refuseField('log', `is required: no service that has signed a checkpoint answers at ${url}`))
  return keys.data.keys.map(({ log_vkey }) => log_vkey)
}
