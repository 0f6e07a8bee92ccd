import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { promisify } from 'node:util'
import { v7 as uuidv7 } from 'uuid'
import { createLimits } from '#access/access.ts'
import { type ApiAuthenticator, KEY_BYTES, newKey } from '#access/api-authenticator.ts'
import type { Login } from '#access/login.ts'
import type { Tokens } from '#access/till-access.ts'
import { registerCompany } from '#commands/company-commands.ts'
import { createPaymentType } from '#commands/store-commands.ts'
import { type CreateApiKeyInput, createApiKey } from '#commands/webhook-commands.ts'
import { readConfig } from '#config/config.ts'
import type { MasterKeys } from '#crypto/master-keys.ts'
import { RECORD_KINDS } from '#domain/record-values.ts'
import { SCOPES, type Scope } from '#domain/rights.ts'
import type { PaymentKind } from '#events/company-events.ts'
import type { UnauthenticatedBodies } from '#http/bodies.ts'
import { SERVER_LIMITS, type ServerLimits } from '#http/server.ts'
import type { PageCache } from '#http/traffic.ts'
import { type Command, isRefusal, type Origin } from '#ledger/command.ts'
import type { EventStore } from '#ledger/port.ts'
import type { ReadFrom } from '#ledger/replicas/replicas.ts'
import { runAs } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { KeyedSemaphore, MemoryBudget } from '#lib/fair-sharing.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import type { ProviderConnector } from '#payments/store-connections.ts'
import { type Core, openCore } from '#service/core.ts'
import { createApp, createHealthCheck, interfaceRouter, openAddressLimit, openInterfaces } from '#service/interfaces.ts'
import type { Services } from '#services.ts'
import { expectDocumentedCall } from './contract.ts'
import { declaring } from './declared-events.ts'
import { masterKeys } from './master-key.ts'
import { noProvider } from './memory-provider.ts'
import { NO_PANEL_QUOTA } from './program.ts'
import { sealsOf } from './seals.ts'
import { onDatabase } from './server.ts'
import { until } from './wait.ts'

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of many shapes
export type Json = any

/** HTTP response. */
export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Json
}

type KeyLimits = Pick<CreateApiKeyInput, 'max_amount_per_call' | 'max_amount_per_day'>

/** A company with a key, and calls made with it. */
export interface TestCompany {
  readonly id: number
  readonly core: Core
  readonly key: string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  get(path: string, headers?: Record<string, string>): Promise<Reply>
  post(path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  /** Creates another key of the company. */
  newKey(scopes: readonly Scope[], expiresAt?: string, limits?: KeyLimits): Promise<{ id: number; key: string }>
  paymentType(kind: Exclude<PaymentKind, 'online'>, fee?: string): Promise<number>
  /** Runs a command like another channel, and returns the resulting record. */
  run<I>(command: Command<I>, input: I, origin?: Origin): Promise<Json>
}

interface CompanyOptions {
  readonly plan?: 'basic' | 'api'
  readonly scopes?: readonly Scope[]
  readonly timezone?: string
  /** Ids start after this number; 0 by default, as in every other company. */
  readonly idsFrom?: number
  /** A test company. */
  readonly test?: true
}

/** Id offset of a company with ids unlike those of all others. */
export const FOREIGN_IDS = 7_000

export interface TestApi {
  readonly url: string
  /** For additional services on the same database. */
  readonly databaseUrl: string
  readonly core: Core
  /** Till tokens. */
  readonly tokens: Tokens
  company(options?: CompanyOptions): Promise<TestCompany>
  /** Number of open connections to it. */
  connections(): Promise<number>
  close(): Promise<void>
}

/** URL at which the provider would reach the service. */
export const PUBLIC_URL = 'https://tillbook.example'

export interface TestApiOptions {
  readonly perMinute?: number
  readonly perDay?: number
  readonly bytesPerDay?: number
  readonly trustProxy?: boolean
  /** Whether webhooks may call http and private addresses; true by default. */
  readonly allowPrivateTargets?: boolean
  /** Further settings of the service, as environment variables. */
  readonly settings?: Readonly<Record<string, string>>
  /** Event store of the ledgers; in the same Postgres by default. */
  readonly store?: EventStore
  /** Payment provider; none by default. */
  readonly provider?: PaymentProvider
  /** Of stores with the provider; none by default. */
  readonly connector?: ProviderConnector | null
  /** Wraps the writer, to simulate failures. */
  readonly wrapWriter?: (writer: Writer) => Writer
  /** Wraps the login, to run code between its steps. */
  readonly wrapLogin?: (login: Login) => Login
  /** Receives errors; the console by default. */
  readonly log?: (message: string, error: unknown) => void
  /** Notifications per minute and address; practically unlimited by default. */
  readonly notificationsPerMinute?: number
  /** Requests for checkout pages per minute and address; practically unlimited by default. */
  readonly checkoutsPerMinute?: number
  /** Connection limits that differ from production. */
  readonly server?: Partial<ServerLimits>
  /** Memory budget of request bodies, and of those of unauthenticated clients. */
  readonly bodies?: MemoryBudget
  /** Limiter of requests with large bodies; by default that of the service. */
  readonly largeCalls?: KeyedSemaphore
  readonly unauthenticatedBodies?: UnauthenticatedBodies
  /** Cache of list pages; by default that of the service. */
  readonly pages?: PageCache
  /** Master keys that differ from those of all tests. */
  readonly masterKeys?: MasterKeys
  /** Secret of another installation. */
  readonly requestSecret?: Buffer
  /** URL of the database owner, if not that of the template. */
  readonly ownerUrl?: string
  readonly onExcess?: (privileges: readonly string[]) => void
  /** Size of the query pool. */
  readonly queryConnections?: number
  /** Read replicas of the database. */
  readonly readUrls?: readonly string[]
  readonly readMaxLagMs?: number
  readonly onRead?: (from: ReadFrom) => void
  /** Request clock (UTC); by default that of Postgres, which commands always use. */
  readonly now?: () => string
}

/** Ignores a replica that has not received a new database yet. */
const heard = (message: string, error: unknown): void => {
  if (!process.env.TILLBOOK_TEST_REPLICA || !message.startsWith('replicas: ')) console.error(message, error)
}

/**
 * Runs the service in this process on its own port, against a real Postgres. Quotas are practically unlimited by
 * default.
 */
export async function startApi(databaseUrl: string, options: TestApiOptions = {}): Promise<TestApi> {
  const { log = heard } = options
  const core = await openCore({
    masterKeys: options.masterKeys ?? masterKeys,
    databaseUrl,
    seals: sealsOf(databaseUrl),
    publicUrl: PUBLIC_URL,
    queryConnections: options.queryConnections ?? 4,
    log,
    onOutdated: () => {},
    ...replicasOf(databaseUrl, options),
    ...(options.store && { store: options.store }),
    ...(options.onExcess && { onExcess: options.onExcess }),
    ownerUrl: options.ownerUrl,
  })
  if (process.env.TILLBOOK_TEST_REPLICA) await until(() => core.replicas.every(({ state }) => state === 'up'))
  const { url, server, tokens, close } = await serve(core, databaseUrl, { ...options, log }, insteadOf(options))
  return {
    url,
    databaseUrl,
    core,
    tokens,
    company: (wanted) => createCompany(core, url, wanted),
    connections: () => promisify(server.getConnections.bind(server))(),
    async close() {
      await close()
      await core.close()
    },
  }
}

/** Replacements for what a process with the role `api` opens. */
const insteadOf =
  (options: TestApiOptions) =>
  ({ access, traffic, installation, limits, payments, writer }: Services): Partial<Services> => {
    const { pages, bodies, largeCalls, unauthenticatedBodies, requestSecret, now, wrapWriter, wrapLogin } = options
    const wrapped = declaring(wrapWriter?.(writer) ?? writer)
    return {
      access: {
        ...access,
        authenticator: withClock(access.authenticator, now),
        login: wrapLogin?.(access.login) ?? access.login,
      },
      traffic: {
        ...traffic,
        ...(pages && { pages }),
        ...(bodies && { bodies }),
        ...(largeCalls && { largeCalls }),
        ...(unauthenticatedBodies && { unauthenticatedBodies }),
      },
      installation: { ...installation, ...(requestSecret && { requestSecret }) },
      limits: createLimits({
        ...limits,
        notifications: options.notificationsPerMinute ?? 1_000_000,
        checkouts: options.checkoutsPerMinute ?? 1_000_000,
        pictures: 1_000_000,
      }),
      writer: wrapped,
      payments: { ...payments, writer: wrapped },
    }
  }

/** The requested replicas, or the one that follows all databases of the run (TEST_REPLICA_DELAY_MS). */
function replicasOf(databaseUrl: string, { readUrls, readMaxLagMs, onRead }: TestApiOptions) {
  const ofRun = process.env.TILLBOOK_TEST_REPLICA
  const urls = readUrls ?? (ofRun ? [onDatabase(ofRun, new URL(databaseUrl).pathname.slice(1))] : [])
  return { readUrls: urls, ...(readMaxLagMs && { readMaxLagMs }), ...(onRead && { onRead }) }
}

interface Serving {
  readonly url: string
  readonly server: Server
  readonly tokens: Tokens
  close(): Promise<void>
}

const NOT_COUNTED = {
  onPage: () => {},
  onNotified: () => {},
  onBytes: () => {},
  watchPool: () => {},
  watchShared: () => {},
}

/** Serves a core like a process with the role `api`; `instead` replaces what such a process opens. */
export async function serve(
  core: Core,
  databaseUrl: string,
  { provider = noProvider, connector = null, log = () => {}, trustProxy = false, ...options }: TestApiOptions,
  instead: (opened: Services) => Partial<Services>,
): Promise<Serving> {
  const config = readConfig({
    DATABASE_URL: databaseUrl,
    PUBLIC_URL,
    TRUST_PROXY: String(trustProxy),
    WEBHOOK_ALLOW_PRIVATE: String(options.allowPrivateTargets ?? true),
    QUOTA_PER_MINUTE: String(options.perMinute ?? 1_000_000),
    QUOTA_PER_DAY: String(options.perDay ?? 1_000_000),
    QUOTA_BYTES_PER_DAY: String(options.bytesPerDay ?? 1_000_000_000_000),
    SYNC_QUOTA_PER_MINUTE: '1000000',
    ...NO_PANEL_QUOTA,
    ...options.settings,
  })
  const addresses = openAddressLimit(config)
  const opening = { config, core, databaseUrl, provider, connector, metrics: NOT_COUNTED, addresses, log }
  const { services, leave, stop } = openInterfaces(opening)
  const { server, open } = createApp({
    onAnswered: () => {},
    trustProxy: config.TRUST_PROXY,
    addresses,
    newId: uuidv7,
    isStopping: () => false,
    limits: { ...SERVER_LIMITS, ...options.server },
    log,
  })
  open(createHealthCheck(config.ROLES, core), interfaceRouter({ ...services, ...instead(services) }))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    tokens: services.access.tokens,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
      await leave()
      await stop()
    },
  }
}

/** A random key. */
export const testKey = () => newKey(randomBytes(KEY_BYTES), 'test')

function withClock(gate: ApiAuthenticator, now: TestApiOptions['now']): ApiAuthenticator {
  if (!now) return gate
  return {
    ...gate,
    async admit(keyHash, bytes) {
      const admission = await gate.admit(keyHash, bytes)
      return admission.kind === 'invalid' ? admission : { ...admission, now: now() }
    },
  }
}

async function createCompany(
  core: Core,
  url: string,
  { plan = 'api', scopes = SCOPES, timezone = 'America/Sao_Paulo', idsFrom, test }: CompanyOptions = {},
): Promise<TestCompany> {
  const { rows } = await core.pool.query<{ id: number }>(`select nextval('ops.company_ids') as id`)
  const id = (rows[0] as { id: number }).id
  await core.found(id)
  if (idsFrom !== undefined) {
    const ids = Object.fromEntries(RECORD_KINDS.map((kind) => [kind, idsFrom]))
    await core.pool.query('update ops.ledgers set ids = $2 where company_id = $1', [id, JSON.stringify(ids)])
  }
  const { key, prefix, hash } = testKey()
  const company = companyWith(core, url, { id, key })
  const fields = { name: `Loja ${id}`, cnpj: '11.222.333/0001-81', plan, timezone, logo_url: null }
  // Together, so that they share a transaction; commands of a company run in their order.
  await Promise.all([
    company.run(registerCompany, { id, ...fields, ...(test && { test }) }),
    company.run(createApiKey, { name: 'chave', scopes: [...scopes], prefix, hash }),
  ])
  return company
}

/** An existing company, called with a key of its own. */
export function companyWith(
  core: Core,
  url: string,
  { id, key }: { readonly id: number; readonly key: string },
): TestCompany {
  const run: TestCompany['run'] = async (command, input, origin = 'system') => {
    const acting = { companyId: id, origin, actor: null, requestId: null }
    const answer = await runAs(core.writer, acting, command, input)
    if (isRefusal(answer)) throw new Error(`refused: ${JSON.stringify(answer)}`)
    return answer
  }
  const call: TestCompany['call'] = async (method, path, body, headers) => {
    const reply = await send(`${url}/api/v1${path}`, method, body, { authorization: `Bearer ${key}`, ...headers })
    // The answer of a dry run has null for new ids (test/api/dry-run.test.ts).
    if (headers?.['dry-run'] === undefined || reply.status >= 400) expectDocumentedCall(method, path, reply)
    return reply
  }
  const paymentTypes = new Set<string>()
  return {
    id,
    core,
    key,
    call,
    get: (path, headers) => call('GET', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
    async newKey(wanted, expires_at, limits) {
      const { key: made, prefix, hash } = testKey()
      const created = await run(createApiKey, {
        name: 'chave',
        scopes: [...wanted],
        prefix,
        hash,
        expires_at,
        ...limits,
      })
      return { id: created.id as number, key: made }
    },
    async paymentType(kind, fee_percentage = '0.00') {
      const name = paymentTypes.has(kind) ? `${kind} ${paymentTypes.size + 1}` : kind
      paymentTypes.add(name)
      return (await run(createPaymentType, { name, kind, fee_percentage, due_days: 30 })).id
    },
    run,
  }
}

/** One HTTP call; a body that is no string is sent as JSON. `redirect` is fetch's. */
export async function send(
  url: string,
  method: string,
  body?: unknown,
  headers: Record<string, string> = {},
  redirect: RequestRedirect = 'follow',
): Promise<Reply> {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
  const type: Record<string, string> = text === undefined ? {} : { 'content-type': 'application/json' }
  const response = await fetch(url, { method, body: text, headers: { ...type, ...headers }, redirect })
  const received = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && received !== ''
  return {
    status: response.status,
    headers: response.headers,
    text: received,
    body: isJson ? JSON.parse(received) : null,
  }
}
