import { createHash, timingSafeEqual } from 'node:crypto'
import type { Request, RequestHandler } from 'express'
import ipaddr from 'ipaddr.js'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { ApiAuthenticator } from '#access/api-authenticator.ts'
import type { NotificationOutcome } from '#domain/order-states.ts'
import { answerProblem, bearer, isDirect, type ObservedRequest } from '#http/edge.ts'
import { Problem } from '#http/problems.ts'
import { isRefusal } from '#ledger/command.ts'
import type { ReadFrom } from '#ledger/replicas/replicas.ts'
import type { CommandResult } from '#ledger/write/idempotency.ts'
import type { GroupFigures, Writer } from '#ledger/write/writer.ts'
import { Unavailable } from '#lib/errors.ts'
import type { LimiterFigures } from '#lib/fair-sharing.ts'
import type { DeliveryResult } from '#webhooks/delivery.ts'

/** Metrics of a process (docs/operations/metrics.md). No metric names a company. */
export interface Metrics {
  readonly contentType: string
  /** A scrape: all metrics in Prometheus's text format. Concurrent calls share one. */
  read(): Promise<string>
  onAnswered(call: ObservedRequest): void
  onPage(from: 'memory' | 'tables'): void
  /** Answers that a read replica may give; none without replicas. */
  onRead(from: ReadFrom): void
  onCommands(outcome: CommandOutcome, count: number): void
  onRefused(code: string): void
  /** Commands handed to the writer (positive) or answered (negative). */
  onUnanswered(change: number): void
  onGroup(group: GroupFigures): void
  onAttempts(results: readonly DeliveryResult[]): void
  onNotified(outcome: NotificationOutcome): void
  /** Bodies counted against a company's daily bytes, or refused. */
  onBytes(outcome: 'admitted' | 'refused', bytes: number): void
  /** For gauges that share a reading: runs it at their first call in each scrape. */
  oncePerScrape<T>(read: () => Promise<T>): () => Promise<T>
  /** A gauge read at each scrape; omitted if reading fails. */
  gauge(name: string, help: string, read: () => number | Promise<number>): void
  /** Several gauges with a label. */
  gauges(name: string, help: string, label: string, read: () => Promise<ReadonlyMap<string, number>>): void
  /** Exports a limiter under a name that includes its unit. */
  watchShared(resource: string, figures: LimiterFigures): void
  /** Exports the connections of a pool. */
  watchPool(name: string, pool: PoolFigures): void
}

/** `replayed`: answered from the Idempotency-Key. `unavailable`: nothing was promised. */
export type CommandOutcome = 'accepted' | 'replayed' | 'refused' | 'unavailable' | 'failed'

/** Figures of a `pg` pool. */
export interface PoolFigures {
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
}

const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const GROUP_COMMANDS = [1, 2, 4, 8, 16, 32, 100, 500, 1_000]
const GROUP_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const ATTEMPT_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Metrics of this process, with memory, processor and event loop. */
export function createMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const scrapes: Scrapes = { begun: 0 }
  let running: Promise<string> | null = null
  return {
    ...figuresIn(registry, scrapes),
    contentType: registry.contentType,
    read() {
      scrapes.begun += running ? 0 : 1
      running ??= registry.metrics().finally(() => {
        running = null
      })
      return running
    },
  }
}

/** Number of scrapes so far; they do not overlap. */
interface Scrapes {
  begun: number
}

function onceIn<T>(scrapes: Scrapes, read: () => Promise<T>): () => Promise<T> {
  let latest: { readonly scrape: number; readonly reading: Promise<T> } | null = null
  return () => {
    if (latest?.scrape !== scrapes.begun) latest = { scrape: scrapes.begun, reading: read() }
    return latest.reading
  }
}

function figuresIn(registry: Registry, scrapes: Scrapes): Omit<Metrics, 'contentType' | 'read'> {
  const registers = [registry]
  const pools = watchPools(registers)
  const shared = watchShared(registers)
  return {
    ...requestFigures(registers),
    ...commandFigures(registers),
    ...deliveryFigures(registers),
    oncePerScrape: (read) => onceIn(scrapes, read),
    gauge(name, help, read) {
      new Gauge({
        name,
        help,
        registers,
        async collect() {
          try {
            this.set(await read())
          } catch {
            this.remove()
          }
        },
      })
    },
    gauges(name, help, label, read) {
      new Gauge({
        name,
        help,
        labelNames: [label],
        registers,
        async collect() {
          const figures = await read().catch(() => new Map<string, number>())
          this.reset()
          for (const [each, figure] of figures) this.set({ [label]: each }, figure)
        },
      })
    },
    watchShared: (resource, figures) => shared.set(resource, figures),
    watchPool: (name, pool) => pools.set(name, pool),
  }
}

const labelledCounter = (registers: Registry[], label: string, name: string, help: string): Counter =>
  new Counter({ name, help, labelNames: [label], registers })

function requestFigures(
  registers: Registry[],
): Pick<Metrics, 'onAnswered' | 'onPage' | 'onRead' | 'onNotified' | 'onBytes'> {
  const seconds = new Histogram({
    name: 'tillbook_http_request_seconds',
    help: 'Time from a request to the end of its answer',
    labelNames: ['method', 'route', 'status'],
    buckets: REQUEST_SECONDS,
    registers,
  })
  const notifications = labelledCounter(
    registers,
    'outcome',
    'tillbook_payment_notifications_total',
    'Notifications of the payment provider, by how they were dealt with',
  )
  const bytes = labelledCounter(
    registers,
    'outcome',
    'tillbook_body_bytes_total',
    'Bytes of bodies that were counted against their companies, or refused because a day was exhausted',
  )
  const pages = labelledCounter(registers, 'from', 'tillbook_pages_total', 'Pages of lists, by where they came from')
  const reads = labelledCounter(
    registers,
    'from',
    'tillbook_reads_total',
    'Answers that a replica may give, by where they were read: replica, primary, again (on the primary, because the replica failed)',
  )
  return {
    onPage: (from) => pages.inc({ from }),
    onRead: (from) => reads.inc({ from }),
    onAnswered: ({ method, route, status, duration_seconds }) =>
      seconds.observe({ method, route, status }, duration_seconds),
    onNotified: (outcome) => notifications.inc({ outcome }),
    onBytes: (outcome, count) => bytes.inc({ outcome }, count),
  }
}

function commandFigures(registers: Registry[]): Pick<Metrics, 'onCommands' | 'onRefused' | 'onUnanswered' | 'onGroup'> {
  const commands = labelledCounter(
    registers,
    'outcome',
    'tillbook_commands_total',
    'Commands that were answered, by how',
  )
  const refusals = labelledCounter(
    registers,
    'code',
    'tillbook_refusals_total',
    'Commands that were refused, by the code of the refusal',
  )
  const unanswered = new Gauge({
    name: 'tillbook_writer_unanswered_commands',
    help: 'Commands that wait for their group, or are in one',
    registers,
  })
  const groupCommands = new Histogram({
    name: 'tillbook_writer_group_commands',
    help: 'Commands that shared a commit',
    buckets: GROUP_COMMANDS,
    registers,
  })
  const groupSeconds = new Histogram({
    name: 'tillbook_writer_group_seconds',
    help: 'Time that a group took, its commit included',
    buckets: GROUP_SECONDS,
    registers,
  })
  return {
    onCommands: (outcome, count) => commands.inc({ outcome }, count),
    onRefused: (code) => refusals.inc({ code }),
    onUnanswered: (change) => unanswered.inc(change),
    onGroup({ commands, duration_ms }) {
      groupCommands.observe(commands)
      groupSeconds.observe(duration_ms / 1000)
    },
  }
}

function deliveryFigures(registers: Registry[]): Pick<Metrics, 'onAttempts'> {
  const seconds = new Histogram({
    name: 'tillbook_delivery_attempt_seconds',
    help: 'Attempts to deliver a webhook, by what became of the delivery: delivered, pending (it is tried again), failed',
    labelNames: ['outcome'],
    buckets: ATTEMPT_SECONDS,
    registers,
  })
  return {
    onAttempts(results) {
      for (const { status, attempt } of results) seconds.observe({ outcome: status }, attempt.duration_ms / 1000)
    },
  }
}

/** One metric for all limiters: units in use, and refusals. */
function watchShared(registers: Registry[]): Map<string, LimiterFigures> {
  const shared = new Map<string, LimiterFigures>()
  const labelNames = ['resource'] as const
  new Gauge({
    name: 'tillbook_shared_used',
    help: 'What callers have taken of what they share, or how many wait for it',
    labelNames,
    registers,
    collect() {
      for (const [resource, { used }] of shared) this.set({ resource }, used)
    },
  })
  new Counter({
    name: 'tillbook_shared_refused_total',
    help: 'Calls that were refused because the caller had its share',
    labelNames,
    registers,
    collect() {
      this.reset()
      for (const [resource, { refused }] of shared) this.inc({ resource }, refused)
    },
  })
  return shared
}

/** One gauge for all pools: active and idle connections, waiting requests. */
function watchPools(registers: Registry[]): Map<string, PoolFigures> {
  const pools = new Map<string, PoolFigures>()
  new Gauge({
    name: 'tillbook_postgres_connections',
    help: 'Connections by pool: busy, idle, and calls that wait for one',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { totalCount, idleCount, waitingCount }] of pools) {
        this.set({ pool, state: 'busy' }, totalCount - idleCount)
        this.set({ pool, state: 'idle' }, idleCount)
        this.set({ pool, state: 'waiting' }, waitingCount)
      }
    },
  })
  return pools
}

/** Counts admitted and refused body bytes. */
export function countedAuthenticator(gate: ApiAuthenticator, { onBytes }: Pick<Metrics, 'onBytes'>): ApiAuthenticator {
  return {
    async admit(keyHash, bytes = 0) {
      const admission = await gate.admit(keyHash, bytes)
      if (admission.kind === 'admitted') onBytes('admitted', bytes)
      if (admission.kind === 'too_many_bytes') onBytes('refused', bytes)
      return admission
    },
    async charge(companyId, bytes) {
      const charge = await gate.charge(companyId, bytes)
      onBytes(charge.isCounted ? 'admitted' : 'refused', bytes)
      return charge
    },
  }
}

type Counting = Pick<Metrics, 'onCommands' | 'onRefused' | 'onUnanswered'>

/**
 * Counts the outcomes of a writer. Commands of a batch count one by one, with their final outcome, not that of retried
 * attempts.
 */
export function countedWriter(writer: Writer, metrics: Counting): Writer {
  return {
    ...writer,
    async around(request, write) {
      const commands = request.invocations.length
      metrics.onUnanswered(commands)
      try {
        const answer = await write()
        if (isRefusal(answer)) count(metrics, [answer])
        else if (answer.replayed) metrics.onCommands('replayed', commands)
        else count(metrics, answer.results)
        return answer
      } catch (error) {
        metrics.onCommands(error instanceof Unavailable ? 'unavailable' : 'failed', commands)
        throw error
      } finally {
        metrics.onUnanswered(-commands)
      }
    },
  }
}

function count(metrics: Counting, results: readonly CommandResult[]): void {
  let accepted = 0
  for (const result of results) {
    if (!isRefusal(result)) accepted += 1
    else {
      metrics.onCommands('refused', 1)
      metrics.onRefused(result.refused)
    }
  }
  if (accepted > 0) metrics.onCommands('accepted', accepted)
}

export interface MetricsOptions {
  readonly metrics: { readonly contentType: string; read(): Promise<string> }
  /** Bearer token of the reader; null: local clients only. */
  readonly token: string | null
}

/**
 * `/metrics`, in Prometheus's text format. With a token it requires it. Without one it answers direct requests from
 * this machine and private networks only; for others, and behind a proxy, the path does not exist.
 */
export function serveMetrics({ metrics, token }: MetricsOptions): RequestHandler {
  return async (request, response) => {
    const refusal = token === null ? refuseFar(request) : refuseAnonymous(request, token)
    if (refusal) return answerProblem(response, refusal)
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return answerProblem(response, new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' }))
    }
    const text = await metrics.read()
    response.setHeader('Content-Type', metrics.contentType)
    response.end(request.method === 'HEAD' ? undefined : text)
  }
}

const NEAR = ['loopback', 'private', 'uniqueLocal', 'linkLocal']

function refuseFar(request: Request): Problem | null {
  const address = request.socket.remoteAddress
  const isNear =
    address !== undefined && NEAR.includes(ipaddr.process(address.split('%')[0] as string).range()) && isDirect(request)
  return isNear ? null : new Problem('not_found')
}

function refuseAnonymous(request: Request, token: string): Problem | null {
  const shown = bearer(request)
  if (shown !== null && timingSafeEqual(digest(shown), digest(token))) return null
  return new Problem(shown === null ? 'missing_token' : 'invalid_token', undefined, { 'WWW-Authenticate': 'Bearer' })
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
