import type { Request, RequestHandler, Response } from 'express'
import * as z from 'zod'
import type { CommandWarnings, Warning } from '#commands/record-commands.ts'
import { type Refusal, refuse } from '#domain/refusals.ts'
import {
  type Compress,
  createEtag,
  sendCompressed,
  sendJson,
  sendRepresentation,
  toRepresentation,
} from '#http/answers.ts'
import { describeQuery, type Params } from '#http/paths.ts'
import { Problem, parseInput } from '#http/problems.ts'
import type { PageMoment } from '#http/traffic.ts'
import { type Envelope, isRefusal } from '#ledger/command.ts'
import type { ReadSession } from '#ledger/replicas/replicas.ts'
import { readableData } from '#ledger/sealed-fields.ts'
import {
  type Answer,
  type Idempotency,
  lookUpReplay,
  PROVISIONAL_UUID,
  type ProvisionalEvent,
  toAnswerStatus,
  withoutNewIds,
} from '#ledger/write/idempotency.ts'
import { operate, runCommands } from '#ledger/write/run.ts'
import type { Request as LedgerRequest } from '#ledger/write/unit-of-work.ts'
import { readModel } from '#projections/index.ts'
import { fullReader } from '#queries/reader.ts'
import {
  type ActionRoute,
  type ApiServices,
  type BatchRoute,
  type Caller,
  CHALLENGE,
  type CommandRoute,
  demandsKey,
  getAdmission,
  getCaller,
  hasAddress,
  type OperationRoute,
  type ReadRoute,
  type Route,
  type StreamRoute,
  single,
  toFieldReader,
  toRequestActor,
} from './api-route.ts'
import { type BatchInput, batchSchema, composeBatch, readBatch, resumeBatch } from './batch.ts'
import {
  assertReadHeaders,
  countBodyBytes,
  isDryRun,
  isIdempotencyKey,
  parseIdempotencyKey,
  parseLastEventId,
  parsePrecondition,
  toIdempotency,
  toRequiredRevision,
  withoutEmptyTexts,
} from './request.ts'

/** Handler of a route: validates, queries the read model or runs the writer, answers. */
export function createHandler(route: Route, services: ApiServices): RequestHandler {
  if ('read' in route) return (request, response) => answerRead(route, services, request, response)
  if ('send' in route) return (request, response) => answerStream(route, services, request, response)
  return async (request, response) => {
    try {
      response.locals.isDryRun = isDryRun(request)
      await answerWrite(route, services, request, response)
    } catch (error) {
      if (error instanceof Problem) await assertOwnKey(services, request, response)
      throw error
    }
  }
}

function answerWrite(
  route: Exclude<Route, ReadRoute | StreamRoute>,
  services: ApiServices,
  request: Request,
  response: Response,
): Promise<void> {
  if ('act' in route) return answerAction(route, services, request, response)
  if ('operate' in route) return answerOperation(route, services, request, response)
  if ('batch' in route) return answerBatch(route, services, request, response)
  return answerCommand(route, services, request, response)
}

/** A refused write is 409 if its key belongs to another request, also where its body is invalid. */
async function assertOwnKey(services: ApiServices, request: Request, response: Response): Promise<void> {
  const key = request.get('idempotency-key')
  if (key === undefined || !isIdempotencyKey(key)) return
  const { companyId, actor } = toRequestActor(response)
  const idempotency = await toIdempotency(key, request, response, services.installation.requestSecret)
  const found = await lookUpReplay(services.reads.poolOf(companyId), { companyId, actor, idempotency })
  if (isRefusal(found)) throw problemOf(found)
}

function parseQuery<T>(schema: z.ZodType<T>, query: Request['query']): T {
  const result = schema.safeParse(query)
  if (!result.success) throw new Problem('validation_failed', { ...describeQuery(result.error, query) })
  return result.data
}

const NO_QUERY = z.strictObject({})

async function answerRead(
  route: ReadRoute,
  services: ApiServices,
  request: Request,
  response: Response,
): Promise<void> {
  assertReadHeaders(request)
  const demand = toRequiredRevision(request, getAdmission(response))
  const page = route.ofLedger ? pageOf(request, response) : null
  const { pages, compress, onPage } = services.traffic
  const kept = page && pages.find(page.key, page.moment)
  if (page) onPage(kept ? 'memory' : 'tables')
  if (page && kept) {
    const sent = await sendRepresentation(response, kept, compress)
    if (sent !== kept) pages.keep(page.key, page.moment, sent)
    return
  }
  const query = parseQuery(route.query ?? NO_QUERY, request.query)
  const caller = getCaller(response)
  const params = request.params as Params
  const { readsOf, poolOf, store } = services.reads
  const read = (place: ReadSession) =>
    route.read({
      ...readServicesOf(services, place),
      reader: fullReader(place.pool, caller.companyId),
      caller,
      params,
      query,
    })
  const now = { pool: poolOf(caller.companyId), store }
  const mayLag = route.ofLedger || route.fromReplica
  const found = await read(mayLag ? readsOf(caller.companyId, demand) : now)
  // A 404 has no revision, so it must reflect the present: a stale miss is read again.
  const answer = found ?? (mayLag && demand.isOlder ? await read(now) : null)
  if (!answer) throw new Problem('not_found')
  const { body, revision, tables, release } = answer
  try {
    if (revision !== undefined) response.setHeader('X-Ledger-Revision', revision)
    const sent = await sendRepresentation(
      response,
      toRepresentation(typeof body === 'string' ? Buffer.from(body) : body),
      compress,
    )
    // Stored under the moment of the read, which may be later than the requested one.
    if (page && revision !== undefined && tables !== undefined)
      pages.keep(page.key, { ...page.moment, revision, tables }, sent)
  } finally {
    if (release) onceClosed(response, release)
  }
}

/** What an answer of a read may use, of the present or of a replica. */
function readServicesOf({ reads, proofs, payments, limits, traffic }: ApiServices, place: ReadSession) {
  const { vault, keys, paymentLinks } = reads
  return {
    vault,
    keys,
    paymentLinks,
    ...proofs,
    provider: payments.provider,
    quota: limits.quota,
    calls: traffic.calls,
    ...place,
  }
}

/** Calls `work` once the socket no longer uses the data passed to it. */
function onceClosed(response: Response, work: () => void): void {
  if (response.closed) work()
  else response.once('close', work)
}

async function answerStream(
  route: StreamRoute,
  { reads, webhooks: { feed } }: ApiServices,
  request: Request,
  response: Response,
): Promise<void> {
  assertReadHeaders(request)
  const query = parseQuery(route.query, request.query)
  const caller = getCaller(response)
  const after = parseLastEventId(request)
  // A HEAD request has no stream.
  if (request.method === 'HEAD') return void response.end()
  await route.send({ pool: reads.poolOf(caller.companyId), feed, caller, query, after }, response)
}

/** Cache key of a page, and the moment that it must have: that of the authentication. */
function pageOf(request: Request, response: Response): { key: string; moment: PageMoment } {
  const { companyId, today } = getCaller(response)
  const { revision, tables } = getAdmission(response)
  return { key: `${companyId} ${request.originalUrl}`, moment: { revision, tables, today } }
}

const NO_BODY = z.strictObject({})

const parseBody = <T>(schema: z.ZodType<T> | undefined, body: unknown): T =>
  parseInput(schema ?? (NO_BODY as unknown as z.ZodType<T>), schema ? withoutEmptyTexts(schema, body) : body)

/** Body bytes that weigh as one command in a group commit (writer.ts): a sale of about fifty lines. */
const BYTES_OF_A_COMMAND = 2_048

async function answerCommand(
  route: CommandRoute<unknown, object>,
  services: ApiServices,
  request: Request,
  response: Response,
): Promise<void> {
  const query = parseQuery(route.query ?? NO_QUERY, request.query)
  const key = parseIdempotencyKey(request, demandsKey(route))
  const body = parseBody(route.body, request.body)
  const input = route.input(request.params as Params, body, services.environment, query)
  if (input === null) throw new Problem('not_found')
  if (isRefusal(input)) throw new Problem(input.refused, input.details)
  await run(services, response, {
    invocations: [{ command: route.command, input }],
    weight: Math.ceil(countBodyBytes(response) / BYTES_OF_A_COMMAND),
    idempotency: await toIdempotency(key, request, response, services.installation.requestSecret),
    precondition: parsePrecondition(route, request),
    revealsSecret: route.reveal !== undefined,
    headers: (answer) => ({ ...locationOf(route, answer), ...etagOfChanged(route, answer) }),
    // Secrets are shown once: a replay returns the record without them.
    wrap({ json, meta, replayed, dryRun }) {
      const secrets = !route.reveal || replayed ? {} : route.reveal(input)
      const shown = withMembers(json, dryRun ? nulled(secrets) : secrets)
      return single(shown, [...(route.warnings?.(body) ?? []), ...warningsIn(meta)])
    },
  })
}

/** Warnings of the command. */
const warningsIn = (meta: string | null | undefined): readonly Warning[] =>
  meta ? (JSON.parse(meta) as CommandWarnings).warnings : []

/** Address of a created record (RFC 9110, 15.3.2): its collection is the path up to the first parameter. */
function locationOf(
  route: Pick<CommandRoute, 'path' | 'collection'>,
  { outcome, json }: Answer,
): Record<string, string> {
  const id = outcome === 'created' && hasAddress(route) ? /^\{"id":(\d+)/.exec(json)?.[1] : undefined
  const collection = route.collection ?? route.path.replace(/\/(:|by-external\b).*$/, '')
  return id === undefined ? {} : { Location: `/api/v1${collection}/${id}` }
}

/** The new ETag, so that a client can change the record again without reading it. */
const etagOfChanged = ({ target, method }: CommandRoute, { json }: Answer): Record<string, string> =>
  target && method !== 'delete' ? { ETag: createEtag(single(json)) } : {}

/** Appends members to the text of a JSON object. */
const withMembers = (object: string, members: object): string =>
  Object.keys(members).length === 0 ? object : `${object.slice(0, -1)},${JSON.stringify(members).slice(1)}`

/** A dry run makes no secret. */
const nulled = (members: object): object => Object.fromEntries(Object.keys(members).map((name) => [name, null]))

async function answerOperation(
  route: OperationRoute,
  services: ApiServices,
  request: Request,
  response: Response,
): Promise<void> {
  const { feed, notifier } = services.webhooks
  const isTried = response.locals.isDryRun === true
  const newId = isTried ? () => PROVISIONAL_UUID : services.environment.newId
  parseQuery(NO_QUERY, request.query)
  const key = parseIdempotencyKey(request, false)
  const sent = parseBody(route.body, request.body)
  const body: unknown = (await route.resolve?.(sent, { feed, caller: getCaller(response) })) ?? sent
  if (isRefusal(body as object | null)) throw problemOf(body as Refusal)
  const idempotency = await toIdempotency(key, request, response, services.installation.requestSecret)
  const params = request.params as Params
  const { companyId, actor, guard } = toRequestActor(response)
  const answer = await operate(
    services.reads.poolOf(companyId),
    { companyId, actor, guard, idempotency, isDryRun: isTried },
    async (operating) => {
      const result = route.operate(operating, { params, body, newId })
      return (await result) ?? refuse('not_found')
    },
  )
  if (!isTried) notifier.notify()
  const told = await withRequests(route, services, { answer, companyId, params })
  await send(response, told, ({ json }) => single(json), services.traffic.compress)
}

/** The answer of a dry run with what the operation would cause outside. */
async function withRequests(
  route: OperationRoute,
  { reads, webhooks: { feed } }: ApiServices,
  {
    answer,
    companyId,
    params,
  }: { readonly answer: Answer | Refusal; readonly companyId: number; readonly params: Params },
): Promise<Answer | Refusal> {
  if (isRefusal(answer) || !answer.dryRun) return answer
  const reader = fullReader(reads.poolOf(companyId), companyId)
  return { ...answer, dryRun: { events: [], requests: await route.requests({ reader, feed, params }, answer.json) } }
}

async function answerAction(
  route: ActionRoute<unknown, Idempotency | undefined>,
  services: ApiServices,
  request: Request,
  response: Response,
): Promise<void> {
  parseQuery(NO_QUERY, request.query)
  const key = parseIdempotencyKey(request, demandsKey(route))
  const body = parseBody(route.body, request.body)
  const idempotency = await toIdempotency(key, request, response, services.installation.requestSecret)
  const params = request.params as Params
  const acting = toRequestActor(response)
  const pool = services.reads.poolOf(acting.companyId)
  const answer = await route.act({ ...services.payments, pool, acting, idempotency, params, body })
  if (answer === null) throw new Problem('not_found')
  if (!isRefusal(answer) && !acting.isDryRun) setHeaders(response, locationOf(route, answer))
  await send(response, answer, ({ json }) => single(json), services.traffic.compress)
}

async function answerBatch(
  route: BatchRoute,
  services: ApiServices,
  request: Request,
  response: Response,
): Promise<void> {
  const query = parseQuery(route.query ?? NO_QUERY, request.query)
  const key = parseIdempotencyKey(request, false)
  const input: BatchInput = await readBatch(
    getCaller(response).companyId,
    parseInput(batchBody, request.body).items,
    route.item,
  )
  await run(services, response, {
    invocations: input.valid.map((item) => ({ command: route.batch, input: route.withQuery?.(item, query) ?? item })),
    idempotency: await toIdempotency(key, request, response, services.installation.requestSecret),
    compose: composeBatch(input, route.warnings),
    resume: resumeBatch(input, route.warnings),
    wrap: ({ json }) => json,
  })
}

/** The items of a batch are validated one by one. */
const batchBody = batchSchema(z.unknown())

interface CommandRun
  extends Pick<LedgerRequest, 'invocations' | 'weight' | 'idempotency' | 'compose' | 'resume' | 'precondition'> {
  readonly wrap: (answer: Answer) => string
  readonly revealsSecret?: boolean
  readonly headers?: (answer: Answer) => Readonly<Record<string, string>>
}

async function run(
  { writer, traffic: { compress } }: ApiServices,
  response: Response,
  { invocations, wrap, revealsSecret = false, headers, ...answering }: CommandRun,
): Promise<void> {
  const answer = await runCommands(writer, toRequestActor(response), invocations, answering)
  if (headers && !isRefusal(answer) && !response.locals.isDryRun) setHeaders(response, headers(answer))
  await send(response, answer, wrap, revealsSecret ? null : compress)
}

function setHeaders(response: Response, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
}

const problemOf = ({ refused, details }: Refusal): Problem =>
  new Problem(refused, details, refused === 'invalid_token' ? CHALLENGE : undefined)

/** `compress` is null if the answer contains a secret: the compressed length could reveal it. */
async function send(
  response: Response,
  answer: Answer | Refusal,
  wrap: (answer: Answer) => string,
  compress: Compress | null,
): Promise<void> {
  if (isRefusal(answer)) throw problemOf(answer)
  if (answer.replayed) response.setHeader('Idempotent-Replayed', 'true')
  response.setHeader('X-Ledger-Revision', answer.revision)
  const isTried = response.locals.isDryRun === true
  const status = isTried ? 200 : toAnswerStatus(answer.outcome)
  const body = isTried ? dryRunBody(answer, wrap(answer), getCaller(response)) : wrap(answer)
  if (compress && body !== '') await sendCompressed(response, status, Buffer.from(body), compress)
  else sendJson(response, status, body)
}

/** Body of a dry run: what the answer would show, with null for new ids, and in `meta` what would follow. */
function dryRunBody(answer: Answer, body: string, caller: Caller): string {
  const { data = null, meta = {} } = (body === '' ? {} : JSON.parse(body)) as { data?: unknown; meta?: object }
  const { events = [], requests = [] } = answer.dryRun ?? {}
  const dry_run = {
    status: toAnswerStatus(answer.outcome),
    events: events.map((event) => shownEvent(event, toFieldReader(caller))),
    requests,
  }
  return JSON.stringify(withoutNewIds(JSON.stringify({ data, meta: { warnings: [], ...meta, dry_run } })))
}

/** Personal fields only of the kinds of records that the key reads, as in `GET /events?opened=true`. */
function shownEvent(event: Envelope, mayRead: (kind: string) => boolean): ProvisionalEvent {
  const { type, version, subject } = event
  const fields = readModel.personalFields(event)
  return { type, version, subject, data: readableData(event, fields, mayRead) }
}
