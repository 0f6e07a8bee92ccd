import type { Response } from 'express'
import type { Pool } from 'pg'
import type { z } from 'zod'
import type { QuotaLimits } from '#access/api-authenticator.ts'
import type { Warning } from '#commands/catalog/item-input.ts'
import type { Vault } from '#crypto/vault.ts'
import type { PaymentLinks } from '#domain/payment-link.ts'
import type { Refusal, RefusalCode } from '#domain/refusal.ts'
import type { Scope } from '#domain/scopes.ts'
import type { Params } from '#http/paths.ts'
import type { ProblemCode } from '#http/problems.ts'
import type { RequestLog } from '#http/request-log/request-log.ts'
import type { Verifier } from '#integrity/audit/verify.ts'
import type { ProofServices } from '#integrity/proofs/proofs.ts'
import type { Prover } from '#integrity/proofs/prover.ts'
import type { Command } from '#ledger/command.ts'
import type { PersonKeys } from '#ledger/person-keys.ts'
import type { EventStore } from '#ledger/port.ts'
import type { Idempotency } from '#ledger/write/idempotency.ts'
import type { OperationContext } from '#ledger/write/operation.ts'
import type { Actor } from '#ledger/write/run.ts'
import type { Answer } from '#ledger/write/unit-of-work.ts'
import type { Payments } from '#payments/pay-order.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import type { Caller } from './authenticate.ts'
import type { EventFeed } from './event-feed.ts'

/** The revision that suffices to whoever reads (HOME-101). */
export const MIN_REVISION = 'X-Min-Ledger-Revision'

/** 1 MB (HTTP-7). */
export const MAX_BODY_BYTES = 1_048_576

/** `{"data": <record>}` */
export function single(record: string, warnings: readonly Warning[] = []): string {
  if (record === '') return ''
  return warnings.length === 0 ? `{"data":${record}}` : `{"data":${record},"meta":${JSON.stringify({ warnings })}}`
}

/** What a read answers: the whole body's JSON text, and the ledger's revision that it shows. */
export interface ReadAnswer {
  /** JSON text. */
  readonly body: string | Buffer
  /** Gives the body's memory back. To be called once it is sent and kept; whoever does not leaves that to the garbage collector. */
  readonly release?: () => void
  readonly revision?: number
  /** Identifies the read model's tables, where the answer may be kept. */
  readonly tables?: number
}

interface Common {
  readonly method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Below /api/v1, in the router's form: `/sales/:id/cancel`. */
  readonly path: string
  /** The scope that the key must carry; null for any key. */
  readonly scope: Scope | null
  /** `operationId` of the contract, verb first: `settleReceivable`. */
  readonly operation: string
  /** One line for the contract, in Portuguese. */
  readonly summary: string
  /** What else a caller has to know, in Portuguese. */
  readonly description?: string
  /** The body of a success; absent where there is none. */
  readonly reply?: z.ZodType
}

export interface ReadContext<Q> {
  readonly pool: Pool
  readonly vault: Vault
  /** Where the ledgers are kept. */
  readonly store: EventStore
  /** What personal fields of its events are opened with. */
  readonly keys: PersonKeys
  readonly verifier: Verifier
  readonly proof: ProofServices
  readonly prover: Prover
  readonly limits: QuotaLimits
  readonly provider: Pick<PaymentProvider, 'getPaymentMethods' | 'getCardOptions'>
  readonly paymentLinks: PaymentLinks
  /** What is read of it is as new as this process knows. */
  readonly calls: Pick<RequestLog, 'flush'>
  readonly caller: Caller
  readonly params: Params
  readonly query: Q
}

/** Answers from the read model. Null is a record that does not exist, or is another company's: 404 either way. */
export interface ReadRoute<Q = unknown> extends Common {
  readonly method: 'get'
  /** Strict: an unknown parameter is refused. */
  readonly query?: z.ZodType<Q>
  /**
   * The answer follows from the request, the company's ledger and the company's day, and from nothing else: it is kept until
   * one of them changes. What is in `ops` moves without the ledger.
   */
  readonly ofLedger?: boolean
  /** The same without being kept: a standby may answer it too, because its revision says how new it is (HOME-100). */
  readonly fromStandby?: boolean
  /** Codes that it may refuse with, beside those of any read. */
  readonly refusals?: readonly ProblemCode[]
  read(context: ReadContext<Q>): Promise<ReadAnswer | null>
}

export interface StreamContext<Q> {
  readonly pool: Pool
  readonly feed: EventFeed
  readonly caller: Caller
  readonly query: Q
  /** Revision in `Last-Event-ID`, of a reader that was cut off. */
  readonly after: number | null
}

/** Sends server-sent events, each with a revision as its id, until the caller leaves. `reply` is what `data` of each holds. */
export interface StreamRoute<Q = unknown> extends Common {
  readonly method: 'get'
  /** Strict: an unknown parameter is refused. */
  readonly query: z.ZodType<Q>
  send(context: StreamContext<Q>, response: Response): Promise<void>
}

/** What the input of a command may depend on beside the request: randomness, and what the operator allows. */
export interface InputDependencies {
  /** A signing secret that nobody has seen yet. */
  newSecret(): string
  /** Whether webhooks may call http and private addresses. */
  readonly allowPrivateTargets: boolean
  /** For how many years after its authorization a fiscal document needs a person. */
  readonly retentionYears: number
}

/** Runs one command. The body schema names its fields; `input` adds what the path says. */
export interface CommandRoute<B = unknown, I = unknown> extends Common {
  readonly body?: z.ZodType<B>
  /** A body for the contract to show. */
  readonly example?: object
  /** Codes that the command may refuse with, beside those that follow from the route's shape (contract/errors.ts). */
  readonly refusals?: readonly RefusalCode[]
  /** Where a POST or PUT creates nothing; all of them where there are several. */
  readonly status?: 200 | readonly number[]
  /** Settlement demands an Idempotency-Key, as actions do; every other POST takes one. */
  readonly idempotency?: 'required'
  readonly command: Command<I>
  /** Null when the path names no possible record (an id that is not a positive integer), or what the path forbids in the body. */
  input(params: Params, body: B, dependencies: InputDependencies): I | Refusal | null
  /** What the body is accepted with: `meta.warnings` of the answer. They follow from the body, so that a replay shows them too. */
  warnings?: ((body: B) => Warning[]) | undefined
  /** Members that the answer shows once: not in the record, and never in a stored answer. */
  reveal?(input: I): object
}

/** Changes what is beside the ledger, as deliveries: a POST that answers 200 with what `operate` returns. */
export interface OperationRoute<B = unknown> extends Common {
  readonly method: 'post'
  readonly body?: z.ZodType<B>
  readonly example?: object
  readonly refusals?: readonly RefusalCode[]
  /** JSON text of the answer's `data`. Null when the path names no possible record. */
  operate(operating: OperationContext, call: OperationCall<B>): Promise<string | Refusal> | null
}

export interface OperationCall<B> {
  readonly params: Params
  readonly body: B
  readonly newId: () => string
}

/** A request on its way to becoming an answer, whatever units of work that takes. */
export interface ActionContext<B, K = Idempotency> extends Payments {
  readonly acting: Actor
  readonly idempotency: K
  readonly params: Params
  readonly body: B
}

/**
 * Does something in more than one unit of work, as asking the payment provider in between: a POST that answers 201, or 200
 * where it creates nothing. What was done outside cannot be taken back, so that it demands an Idempotency-Key unless doing it
 * twice is doing it once.
 */
export interface ActionRoute<B = unknown, K = Idempotency> extends Common {
  readonly method: 'post'
  readonly body: z.ZodType<B>
  readonly status?: 200
  readonly idempotency?: 'optional'
  readonly example?: object
  readonly refusals?: readonly ProblemCode[]
  /** Null when the path names no possible record. */
  act(context: ActionContext<B, K>): Promise<Answer | Refusal> | null
}

/** Runs one command per item, each on its own: an upsert by external_id (BATCH-2). */
export interface BatchRoute<I = unknown> extends Common {
  readonly method: 'post'
  readonly item: z.ZodType<I>
  readonly example?: object
  readonly batch: Command<I>
  /** As of a command, of an item. */
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

/** Whether calls are refused without an Idempotency-Key. */
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
