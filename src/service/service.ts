import type { Logger } from 'pino'
import { createFirstRun } from '#access/one-time-links.ts'
import { type Addresses, type Config, readConfig } from '#config/config.ts'
import { type ListeningServer, startListening } from '#http/server.ts'
import { inSource, type LogError } from '#lib/errors.ts'
import { commandLine } from '#lib/files.ts'
import { newId } from '#lib/ids.ts'
import { createProviderClient } from '#payments/provider-client.ts'
import { withTestsAt } from '#payments/store-connections.ts'
import { startEmbedded } from '#postgres/embedded.ts'
import { assertSupported } from '#postgres/requirements.ts'
import { createApp, openAddressLimit, seed } from './interfaces.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { createProcess, quietlyTo } from './process.ts'
import type { SeedDemo } from './process-roles.ts'

/** Within this time a repeated error is only counted. */
const QUIET_MS = 30_000
/** Maximum of remembered errors. */
const KNOWN_COMPLAINTS = 200

interface Known {
  since_ms: number
  repeated: number
}

/**
 * Rate-limits repeated errors: retries keep failing while Postgres is down. Each distinct error is logged once per
 * interval, with the number of suppressed repetitions. Errors of requests are always logged.
 */
export function limitRepetitions(log: LogError, now_ms: () => number): LogError {
  const known = new Map<string, Known>()
  return (message, error, fields) => {
    if (fields?.request_id !== undefined) return log(message, error, fields)
    const complaint = `${message} ${JSON.stringify(fields ?? {})}: ${(error as { message?: string } | null)?.message ?? ''}`
    const last = known.get(complaint)
    if (last && now_ms() - last.since_ms < QUIET_MS) {
      last.repeated += 1
      return
    }
    if (known.size >= KNOWN_COMPLAINTS) known.clear()
    known.set(complaint, { since_ms: now_ms(), repeated: 0 })
    log(message, error, last && last.repeated > 0 ? { ...fields, repeated: last.repeated } : fields)
  }
}

const createErrorLog = (logger: Logger): LogError =>
  limitRepetitions(
    (message, error, fields) => logger.error({ err: error, ...fields }, message),
    () => performance.now(),
  )

/** Members of errors that are safe to log. Postgres's `detail`, `where` and `hint` are not: they quote rows. */
const TOLD = ['code', 'errno', 'syscall', 'severity', 'schema', 'table', 'column', 'constraint', 'dataType', 'routine']

/** Logged depth of nested causes. */
const DEPTH = 5

interface ErrorRecord {
  readonly type: string
  readonly message: string
  readonly stack: string
  readonly [member: string]: unknown
}

/**
 * Loggable form of an error: type and origin, without values. Errors of libraries contribute only the members
 * in `TOLD`, and values quoted in their messages are removed.
 */
export function errorRecord(error: unknown, depth = DEPTH): ErrorRecord | { readonly type: string } {
  if (!(error instanceof Error)) return { type: typeof error }
  const members = error as unknown as Record<string, unknown>
  const { cause, errors } = members
  const isPlain = (value: unknown) => typeof value === 'string' || typeof value === 'number'
  return {
    type: error.name === 'Error' ? error.constructor.name : error.name,
    message: withoutValues(error),
    stack: framesOf(error),
    ...Object.fromEntries(TOLD.flatMap((name) => (isPlain(members[name]) ? [[name, members[name]]] : []))),
    ...(cause !== undefined && depth > 0 && { cause: errorRecord(cause, depth - 1) }),
    ...(Array.isArray(errors) &&
      depth > 0 && { errors: errors.slice(0, 10).map((one) => errorRecord(one, depth - 1)) }),
  }
}

/** Messages may quote texts of callers. */
const MAX_MESSAGE = 2_000
const EMAIL = /[^\s<>"'@]+@[^\s<>"'@]+/g
/** V8's message for malformed JSON ends with an excerpt of the text. */
const QUOTED_JSON = /(\.\.\.)?"[\s\S]*"(\.\.\.)? is not valid JSON/
/** Postgres class 22 (data exception): the message quotes the invalid value. */
const DATA_EXCEPTION = /^22/

function withoutValues(error: Error): string {
  const { code } = error as { code?: unknown }
  const message = error.message.slice(0, MAX_MESSAGE).replace(QUOTED_JSON, '… is not valid JSON').replace(EMAIL, '…@…')
  return typeof code === 'string' && DATA_EXCEPTION.test(code) ? message.replace(/"[\s\S]*"/, '"…"') : message
}

/** The stack begins with the message, which may have several lines. */
const framesOf = ({ stack = '' }: Error): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map(inSource)
    .join('\n')

/** The roles of one process, from start to orderly shutdown. */
export interface Service {
  /** Resolves when every role runs. Rejects if one cannot start; `stop` then closes what was opened. */
  start(): Promise<void>
  /** Ends work in progress and closes everything, even during a start. */
  stop(): Promise<void>
}

interface Opening extends Pick<ServiceOptions, 'config' | 'onFailure'> {
  readonly log: LogError
  readonly closing: (() => Promise<void>)[]
}

/** Addresses of the configured Postgres, or of the embedded one, which has everything the service needs. */
async function openPostgres({ config, log, closing, onFailure }: Opening): Promise<Addresses> {
  let [databaseUrl, ownerUrl] = [config.DATABASE_URL, config.DATABASE_OWNER_URL]
  if (databaseUrl === undefined) {
    const starting = startEmbedded({ dataDir: config.DATA_DIR, log, onFailure })
    // Also closes it if the process is stopped during the start.
    closing.push(async () => (await starting.catch(() => null))?.stop())
    ;({ url: databaseUrl, ownerUrl } = await starting)
  }
  await assertSupported(databaseUrl, { undurable: config.ALLOW_UNDURABLE_POSTGRES, newId })
  return { databaseUrl, ownerUrl }
}

export interface ServiceOptions {
  readonly config: Config
  readonly logger: Logger
  readonly seedDemo: SeedDemo
  /** Called when the process cannot continue and should stop. */
  readonly onFailure: () => void
}

export function createService({ config, logger, seedDemo, onFailure }: ServiceOptions): Service {
  const log = createErrorLog(logger)
  const metrics = createMetrics()
  const isApi = config.ROLES.includes('api')
  let isOpen = false
  let stopping = false
  let listening: ListeningServer | null = null
  /** Opened resources, closed in reverse order. */
  const closing: (() => Promise<void>)[] = []
  const addressLimit = openAddressLimit(config)
  const serving = createProcess({ config, metrics, addresses: addressLimit, logger, log, seedDemo, onFailure })

  const app = createApp({
    ...appSettings(config, metrics),
    addresses: addressLimit,
    isStopping: () => stopping,
    isOver: serving.isOver,
    onTlsError: (error) => log('tls: renewed certificate is unusable, the old one stays', error),
    log,
  })
  const quietly = quietlyTo(log)

  return {
    async start() {
      listening = await startListening(app.server, { port: config.PORT, host: config.HOST })
      const addresses = await openPostgres({ config, log, closing, onFailure })
      const shared = await serving.open(addresses, openProvider(config, closing))
      const demoFile = isApi ? await seed(shared) : null
      app.open(serving.health, isApi ? serving.serve() : undefined)
      isOpen = true
      logger.info({ roles: config.ROLES }, 'service: ready')
      if (isApi)
        welcome(config, demoFile, await createFirstRun({ ...shared.core, publicUrl: config.PUBLIC_URL }).link())
    },
    async stop() {
      stopping = true
      const delay_ms = isApi && isOpen ? config.STOP_DELAY_SECONDS * 1000 : 0
      await Promise.all([quietly(async () => listening?.drain(delay_ms)), serving.quiet()])
      await serving.close()
      for (const close of closing.splice(0).reverse()) await quietly(close)
    },
  }
}

function openProvider({ PAYMENT_PROVIDER_URL, PAYMENT_SANDBOX_URL }: Config, closing: (() => Promise<void>)[]) {
  const provider = createProviderClient({ baseUrl: PAYMENT_PROVIDER_URL })
  closing.push(provider.close)
  if (PAYMENT_SANDBOX_URL === undefined) return provider
  const sandbox = createProviderClient({ baseUrl: PAYMENT_SANDBOX_URL })
  closing.push(sandbox.close)
  return withTestsAt(sandbox, provider)
}

const appSettings = ({ TRUST_PROXY, METRICS_TOKEN, TLS_CERT_FILE, TLS_KEY_FILE }: Config, metrics: Metrics) => ({
  tls: TLS_CERT_FILE && TLS_KEY_FILE ? { certFile: TLS_CERT_FILE, keyFile: TLS_KEY_FILE } : null,
  trustProxy: TRUST_PROXY,
  newId,
  onAnswered: metrics.onAnswered,
  figures: { metrics, token: METRICS_TOKEN ?? null },
})

/** A word of a shell command, quoted if it has to be. */
const shellWord = (text: string): string => (/^[\w./:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`)

/** The demo with the settings that another terminal does not have; of a database, only that it is needed. */
function demoCommand({ DATA_DIR, DATABASE_URL, PUBLIC_URL }: Config): string {
  const usual = readConfig({})
  const settings = DATA_DIR === usual.DATA_DIR ? '' : `DATA_DIR=${shellWord(DATA_DIR)} `
  const flags = PUBLIC_URL === usual.PUBLIC_URL ? '' : `--url ${shellWord(PUBLIC_URL)}`
  const database = DATABASE_URL === undefined ? '' : 'with the DATABASE_URL of the service: '
  return `${settings}${commandLine('demo', flags)}          # ${database}the main job`
}

/** Printed once the service answers: addresses and first steps, as commands for another terminal. */
function welcome(config: Config, demoFile: string | null, firstRunLink: string | null): void {
  const { PUBLIC_URL: baseUrl } = config
  const lines = ['', `  Tillbook answers on ${baseUrl}`, '']
  if (firstRunLink !== null)
    lines.push(
      '  No company yet. Create the first one and its owner in a browser; the link works once:',
      `    ${firstRunLink}`,
      '',
    )
  if (demoFile !== null) {
    const readKey = `node -p 'JSON.parse(fs.readFileSync(process.argv[1])).companies[0].api_key' ${shellWord(demoFile)}`
    lines.push(
      `  Demo companies, their API keys and users: ${demoFile}`,
      `  The panel, for their users: ${baseUrl}/painel`,
      `  The till, for the same users: ${baseUrl}/caixa`,
      '',
      '  Try, in another terminal:',
      `    KEY=$(${readKey})`,
      `    curl -s -H "Authorization: Bearer $KEY" ${shellWord(`${baseUrl}/api/v1/me`)}`,
      `    curl -s -H "Authorization: Bearer $KEY" '${baseUrl}/api/v1/catalog/items?limit=3'`,
      `    ${demoCommand(config)}, step by step: a sale, its replay, an order paid on its page, the ledger`,
      '',
    )
  }
  process.stdout.write(`${lines.join('\n')}\n`)
}
