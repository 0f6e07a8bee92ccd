import type { RequestHandler, Response } from 'express'
import type * as z from 'zod'
import {
  type ApiAuthenticator,
  type AuthenticatedCall,
  hashKey,
  isKey,
  type QuotaLimits,
} from '#access/api-authenticator.ts'
import type { Warning } from '#commands/record-commands.ts'
import type { Environment } from '#config/config.ts'
import { type Calendar, dateInZone } from '#domain/instant.ts'
import type { PersonKind } from '#domain/person-values.ts'
import type { RecordKind } from '#domain/record-values.ts'
import type { Refusal, RefusalCode } from '#domain/refusals.ts'
import type { Scope } from '#domain/rights.ts'
import { declaredBytes, showBytes, tooManyBytes } from '#http/bodies.ts'
import { bearer, type LimitUnauthenticated, rateLimitProblem, showRate } from '#http/edge.ts'
import type { Params } from '#http/paths.ts'
import { Problem, type ProblemCode, problemOfReason } from '#http/problems.ts'
import type { RequestLog } from '#http/request-log.ts'
import type { LedgerReads } from '#integrity/as-of.ts'
import type { Command } from '#ledger/command.ts'
import type { AnyRef } from '#ledger/table.ts'
import type { Answer, Idempotency, OutsideRequest } from '#ledger/write/idempotency.ts'
import { type Actor, asApiKey, type OperationContext } from '#ledger/write/run.ts'
import type { Payments } from '#payments/pay-order.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import type { Queryable } from '#postgres/database.ts'
import { liveKey } from '#projections/webhooks.ts'
import type { Reader } from '#queries/reader.ts'
import type { Proofs, Services } from '#services.ts'
import type { EventFeed } from '#webhooks/event-feed.ts'

/** Company and key of an authenticated request, with the company's day at that moment. */
export interface Caller extends Calendar {
  readonly companyId: number
  readonly keyId: number
  readonly scopes: readonly string[]
}

/** Scope that a key needs to see personal fields of each kind; no key may see those of users. */
const READERS: Readonly<Record<PersonKind, Scope | null>> = {
  customer: 'customers:read',
  supplier: 'suppliers:read',
  order: 'orders:read',
  user: null,
}

export const toFieldReader =
  ({ scopes }: Pick<Caller, 'scopes'>) =>
  (kind: string): boolean => {
    const needed = READERS[kind as PersonKind]
    return needed !== null && scopes.includes(needed)
  }

/** Set by `authenticate`, which runs before every handler. */
export const getCaller = (response: Response): Caller => response.locals.caller as Caller
export const getAdmission = (response: Response): AuthenticatedCall => response.locals.admission as AuthenticatedCall

/** What is noted with a response before its handler runs. */
interface CallLocals {
  readonly requestId: string
  readonly traceparent?: string
  /** Set for the tools of agents. */
  readonly via?: string
  readonly isDryRun?: boolean
}

/** Actor of the request's commands, valid as long as its key is not revoked. */
export function toRequestActor(response: Response): Actor {
  const caller = getCaller(response)
  const { requestId, traceparent, via, isDryRun } = response.locals as CallLocals
  return { ...asApiKey(caller, requestId), guard: liveKey(caller.keyId), traceparent, via, isDryRun }
}

/** Query parameters that are mistaken for a place of the key. Query strings end up in logs and histories. */
const KEY_PARAMETERS = ['api_key', 'access_token', 'token', 'key']

export const CHALLENGE = { 'WWW-Authenticate': 'Bearer' }

/**
 * Checks key, quota of requests and bytes, and add-on in one statement. A body beyond `maxBodyBytes` will not be read.
 * A request without a valid key is limited by address, so that every answer can show a limit.
 */
export function authenticate(
  gate: ApiAuthenticator,
  limitAnonymous: LimitUnauthenticated,
  maxBodyBytes: number,
): RequestHandler {
  return async (request, response, next) => {
    const refuse = async (problem: Problem): Promise<never> => {
      await limitAnonymous(request, response)
      throw problem
    }
    // Express parses the query string at each access.
    const { query } = request
    if (KEY_PARAMETERS.some((name) => name in query)) return refuse(problemOfReason('key_in_query', CHALLENGE))
    const key = bearer(request)
    if (key === null) return refuse(new Problem('missing_token', undefined, CHALLENGE))
    const bytes = declaredBytes(request, maxBodyBytes) ?? 0
    const admission = isKey(key) ? await gate.admit(hashKey(key), bytes) : null
    if (!admission || admission.kind === 'invalid') return refuse(new Problem('invalid_token', undefined, CHALLENGE))
    response.locals.admission = admission
    showRate(response, admission.rate)
    showBytes(response, admission.bytes)
    response.setHeader('X-Ledger-Revision', admission.revision)
    if (admission.kind === 'limited') throw rateLimitProblem(admission.rate)
    if (admission.kind === 'too_many_bytes') throw tooManyBytes(admission.bytes)
    if (admission.plan !== 'api') throw new Problem('plan_required')
    const { companyId, keyId, scopes, timezone } = admission
    // By Postgres's clock, as for commands: processes with different clocks agree on the start of a day.
    const today = dateInZone(admission.now, timezone)
    response.locals.caller = { companyId, keyId, scopes, timezone, today } satisfies Caller
    next()
  }
}

/** Null accepts any key. */
export function requireScope(scope: Scope | null): RequestHandler {
  return (_request, response, next) => {
    if (scope === null || getAdmission(response).scopes.includes(scope)) next()
    else next(new Problem('insufficient_scope', { missing_scope: scope }))
  }
}

/** Minimum revision that the answer must show (READ-921). */
export const MIN_REVISION = 'X-Min-Ledger-Revision'

/** 1 MB (HTTP-15). */
export const MAX_BODY_BYTES = 1_048_576

/** `{"data": <record>}`, with `meta` if there are warnings. */
export function single(record: string, warnings: readonly Warning[] = []): string {
  if (record === '') return ''
  return warnings.length === 0 ? `{"data":${record}}` : `{"data":${record},"meta":${JSON.stringify({ warnings })}}`
}

/** Answer of a read: the whole JSON body, and the ledger revision that it shows. */
export interface ReadAnswer {
  /** JSON text. */
  readonly body: string | Buffer
  /**
   * Releases the memory of the body. Call it once the body was sent and cached; otherwise garbage collection does it.
   */
  readonly release?: () => void
  readonly revision?: number
  /** Identifies the read model's tables, if the answer may be cached. */
  readonly tables?: number
}

interface Common {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below /api/v1, in the router's form: `/sales/:id/cancel`. */
  readonly path: string
  /** Scope that the key must have; null for any key. */
  readonly scope: Scope | null
  /** A further one, of what it records beside its records. */
  readonly alsoScope?: Scope
  /** `operationId` of the contract, verb first: `settleReceivable`. */
  readonly operation: string
  /** One line for the contract, in Portuguese. */
  readonly summary: string
  /** Further documentation, in Portuguese. */
  readonly description?: string
  /** Body of a success; absent if there is none. */
  readonly reply?: z.ZodType
}

/** What API v1 is given. */
export type ApiServices = Pick<
  Services,
  | 'reads'
  | 'writer'
  | 'proofs'
  | 'installation'
  | 'access'
  | 'payments'
  | 'webhooks'
  | 'environment'
  | 'limits'
  | 'traffic'
>

/** The store is that of the present or of a replica. */
export interface ReadContext<Q> extends Pick<LedgerReads, 'vault' | 'store' | 'keys' | 'paymentLinks'>, Proofs {
  /** Reads the company's tables. */
  readonly reader: Reader
  /** What `reader` reads from. */
  readonly pool: Queryable
  readonly quota: QuotaLimits
  readonly provider: Pick<PaymentProvider, 'getPaymentMethods' | 'getCardOptions'>
  /** Flushed before a read, so that the answer contains all requests of this process. */
  readonly calls: Pick<RequestLog, 'flush'>
  readonly caller: Caller
  readonly params: Params
  readonly query: Q
}

/** Answers from the read model. Null if the record does not exist or belongs to another company: 404 in both cases. */
export interface ReadRoute<Q = unknown> extends Common {
  readonly method: 'get'
  /** Strict: an unknown parameter is refused. */
  readonly query?: z.ZodType<Q>
  /**
   * The answer depends only on the request, the company's ledger and the company's day, so it is cached until one of
   * them changes. Data in `ops` changes independently of the ledger.
   */
  readonly ofLedger?: boolean
  /** Not cached, but a read replica may answer: its revision shows how new it is. */
  readonly fromReplica?: boolean
  /** Error codes beyond those of any read. */
  readonly refusals?: readonly ProblemCode[]
  read(context: ReadContext<Q>): Promise<ReadAnswer | null>
}

export interface StreamContext<Q> {
  readonly pool: Queryable
  readonly feed: EventFeed
  readonly caller: Caller
  readonly query: Q
  /** Revision in `Last-Event-ID`, sent by a client that reconnects. */
  readonly after: number | null
}

/**
 * Sends server-sent events, each with a revision as its id, until the client disconnects. `reply` describes `data` of
 * each.
 */
export interface StreamRoute<Q = unknown> extends Common {
  readonly method: 'get'
  /** Strict: an unknown parameter is refused. */
  readonly query: z.ZodType<Q>
  send(context: StreamContext<Q>, response: Response): Promise<void>
}

/** Randomness and settings of the operator, for a command's input. */
export type InputDependencies = Pick<Environment, 'newSecret' | 'allowPrivateTargets' | 'retentionYears'>

/** Record that a PATCH, PUT or DELETE changes: `If-Match` demands its ETag. */
export interface RouteTarget {
  readonly kind: RecordKind
  /** Of a PUT by-external; other paths contain the id. */
  readonly byExternalId?: (externalId: string) => AnyRef
}

/** Runs one command. The body schema defines its fields; `input` adds those of the path. */
export interface CommandRoute<B = unknown, I = unknown> extends Common {
  readonly body?: z.ZodType<B>
  /** Example body for the contract. */
  readonly example?: object
  /** Error codes of the command, beyond those that follow from the route's shape. */
  readonly refusals?: readonly RefusalCode[]
  /** For a POST or PUT that creates nothing; a list if several statuses are possible. */
  readonly status?: 200 | readonly number[]
  /** Settlement requires an Idempotency-Key, like actions; it is optional for every other POST. */
  readonly idempotency?: 'required'
  readonly command: Command<I>
  /** Collection of the created record (`/returns`), if it is not the path up to the first parameter. */
  readonly collection?: string
  readonly target?: RouteTarget
  /** Strict: an unknown parameter is refused. By default there are none. */
  readonly query?: z.ZodType
  /**
   * Null if the path names no possible record (an id that is not a positive integer), or forbids a value of the body.
   */
  input(params: Params, body: B, dependencies: InputDependencies, query: unknown): I | Refusal | null
  /**
   * Warnings in `meta.warnings` of the answer that depend on the body only, so a replay shows them too. Those of the
   * command are in its remarks (`CommandWarnings`).
   */
  warnings?: ((body: B) => Warning[]) | undefined
  /** Members shown once in the answer: not part of the record, and never stored. */
  reveal?(input: I): object
}

/** Changes data outside the ledger, such as deliveries: a POST that answers 200 with the result of `operate`. */
export interface OperationRoute<B = unknown> extends Common {
  readonly method: 'post'
  readonly body?: z.ZodType<B>
  readonly example?: object
  readonly refusals?: readonly RefusalCode[]
  /** Reads what the body refers to, before the transaction: inside it nothing may wait for a second connection. */
  resolve?(body: B, context: Pick<StreamContext<never>, 'feed' | 'caller'>): Promise<B | Refusal>
  /** What follows from the result outside; a dry run shows it. */
  requests(context: OutsideContext, data: string): Promise<readonly OutsideRequest[]>
  /** JSON text of the answer's `data`. Null if the path names no possible record. */
  operate(operating: OperationContext, call: OperationCall<B>): Promise<string | Refusal> | null
}

export interface OutsideContext {
  readonly reader: Reader
  readonly feed: EventFeed
  readonly params: Params
}

export interface OperationCall<B> {
  readonly params: Params
  readonly body: B
  readonly newId: () => string
}

/** Context of an action, which may take several units of work. */
export interface ActionContext<B, K = Idempotency> extends Payments {
  readonly acting: Actor
  readonly idempotency: K
  readonly params: Params
  readonly body: B
}

/**
 * Takes more than one unit of work, for example with a request to the payment provider in between: a POST that answers
 * 201, or 200 if it creates nothing. External effects cannot be undone, so it requires an Idempotency-Key unless it is
 * idempotent by itself.
 */
export interface ActionRoute<B = unknown, K = Idempotency> extends Common {
  readonly method: 'post'
  readonly body: z.ZodType<B>
  readonly status?: 200
  readonly idempotency?: 'optional'
  readonly example?: object
  readonly refusals?: readonly ProblemCode[]
  /** Null if the path names no possible record. */
  act(context: ActionContext<B, K>): Promise<Answer | Refusal> | null
}

/** Runs one command per item: an upsert by external_id (BATCH-2). */
export interface BatchRoute<I = unknown> extends Common {
  readonly method: 'post'
  readonly item: z.ZodType<I>
  readonly example?: object
  readonly batch: Command<I>
  /** Error codes of an item, beyond `validation_failed`. */
  readonly itemRefusals: readonly RefusalCode[]
  readonly query?: z.ZodType
  /** Adds what the query says to an item. */
  withQuery?(item: I, query: unknown): I
  /** Warnings of an item, like those of a command. */
  warnings?: ((item: I) => Warning[]) | undefined
}

// biome-ignore-start lint/suspicious/noExplicitAny: a list of routes mixes types; the helpers below checked each route
export type Route =
  | ReadRoute<any>
  | StreamRoute<any>
  | CommandRoute<any, any>
  | BatchRoute<any>
  | OperationRoute<any>
  | ActionRoute<any, any>
// biome-ignore-end lint/suspicious/noExplicitAny: until here

/** Whether requests without an Idempotency-Key are refused. */
export const demandsKey = (route: Route): boolean =>
  'act' in route ? route.idempotency !== 'optional' : 'command' in route && route.idempotency === 'required'

export const readRoute = <Q>(route: Omit<ReadRoute<Q>, 'method'>): Route => ({ method: 'get', ...route })
export const streamRoute = <Q>(route: Omit<StreamRoute<Q>, 'method'>): Route => ({ method: 'get', ...route })
export const commandRoute = <B, I>(route: CommandRoute<B, I>): Route => route
export const operationRoute = <B = object>(route: Omit<OperationRoute<B>, 'method'>): Route => ({
  method: 'post',
  ...route,
})
export const actionRoute = <B>(route: Omit<ActionRoute<B>, 'method' | 'idempotency'>): Route => ({
  method: 'post',
  ...route,
})
export const repeatableActionRoute = <B>(
  route: Omit<ActionRoute<B, Idempotency | undefined>, 'method' | 'idempotency'>,
): Route => ({ method: 'post', idempotency: 'optional', ...route })
export const batchRoute = <I>(route: Omit<BatchRoute<I>, 'method'>): Route => ({ method: 'post', ...route })

/** Whether records that a route creates have an address: movements of stock have none of their own. */
export const hasAddress = ({ path }: Pick<Route, 'path'>): boolean => path !== '/stock/movements'
