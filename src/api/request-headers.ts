import type { Request, Response } from 'express'
import type { AuthenticatedCall } from '#access/api-authenticator.ts'
import type { Params } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import { etagOf, includesEtag } from '#http/representation.ts'
import { shareOf } from '#http/share-of.ts'
import { SHORT_WAIT_BUDGET_MS } from '#ledger/replicas/reads.ts'
import type { Idempotency } from '#ledger/write/idempotency.ts'
import type { Precondition } from '#ledger/write/unit-of-work.ts'
import { createTimeSlicer } from '#lib/time-slicing.ts'
import { identifyRequest } from './request-hash.ts'
import { type CommandRoute, MIN_REVISION, single } from './route.ts'

const headerProblem = (name: string, message: string): Problem =>
  new Problem('validation_failed', { fields: { [name]: [message] }, unknown_fields: [] })

const REVISION = /^(0|[1-9]\d{0,14})$/
const REVISION_MESSAGE = 'deve ser uma revisão do livro: um número inteiro a partir de 0'

/** Wait budget for a read replica, if the client requires a revision, in milliseconds. */
const WAIT_BUDGET_MS = 1_000

/**
 * Required revision of an answer: that of the ledger at authentication, or a lower one if the client allows it
 * (READ-921). The next page must not be older than the previous one, so a cursor requires the current revision.
 */
export function requiredRevisionOf(request: Request, { revision, tables }: AuthenticatedCall) {
  const required = request.get(MIN_REVISION)
  if (required !== undefined && !REVISION.test(required)) throw headerProblem(MIN_REVISION, REVISION_MESSAGE)
  const wait_budget_ms = required === undefined ? SHORT_WAIT_BUDGET_MS : WAIT_BUDGET_MS
  const suffices = required === undefined || 'cursor' in request.query ? revision : Number(required)
  return suffices < revision
    ? { revision: suffices, wait_budget_ms, isOlder: true }
    : { revision, tables, wait_budget_ms, isOlder: false }
}

/** Last-Event-ID of a stream, the revision of the last received event; null without a valid one. */
export function lastEventIdOf(request: Request): number | null {
  const last = request.get('Last-Event-ID') ?? ''
  return REVISION.test(last) ? Number(last) : null
}

/**
 * The conditions of If-Match, and of If-None-Match where a PUT may create the record, checked under the lock of the ledger
 * (HTTP-45, HTTP-843).
 */
export function preconditionOf({ target }: CommandRoute, request: Request): Precondition | undefined {
  if (!target) return undefined
  const { kind, byExternalId } = target
  const list = request.get('if-match')
  const none = byExternalId ? request.get('if-none-match') : undefined
  if (list === undefined && none === undefined) return undefined
  const { id, external_id } = request.params as Params
  const ref = byExternalId && external_id !== undefined ? byExternalId(external_id) : null
  return {
    needs: ref ? [ref] : [],
    subjectOf(rows) {
      const found = ref ? (rows.get(ref) as { readonly id: number } | null)?.id : id
      return found === undefined ? null : `${kind}/${found}`
    },
    // A command answers 404 for an id without a record; a PUT by external id would create one.
    holds(record) {
      if (record === '') return ref === null || list === undefined
      const etag = etagOf(single(record))
      return (list === undefined || includesEtag(list, etag)) && (none === undefined || !includesEtag(none, etag))
    },
  }
}

const keyProblem = (message: string): Problem => headerProblem('Idempotency-Key', message)

const KEY_ON_READ = 'só vale em POST, PUT, PATCH e DELETE: retire-a desta chamada'

/** An Idempotency-Key on a read is a mistake: answers of reads are not stored (IDEM-12). */
export function assertNoKey(request: Request): void {
  if (request.get('idempotency-key') !== undefined) throw keyProblem(KEY_ON_READ)
}

/** Header values are bytes: characters outside printable ASCII would be stored differently than intended. */
export const isIdempotencyKey = (key: string): boolean => /^[\x20-\x7e]{1,255}$/.test(key)

/** Idempotency-Key of a write; undefined if it is absent and optional. */
export function keyOf(request: Request, isDemanded: boolean): string | undefined {
  const key = request.get('idempotency-key')
  if (key === undefined && isDemanded) throw keyProblem('é obrigatória nesta operação')
  if (key !== undefined && !isIdempotencyKey(key)) throw keyProblem('deve ter de 1 a 255 caracteres ASCII visíveis')
  return key
}

const rawBodyOf = ({ locals }: Response) => locals.rawBody as Buffer | undefined
export const bodyBytesOf = (response: Response): number => rawBodyOf(response)?.length ?? 0

/** Idempotency-Key with the hash of its request. */
export async function idempotencyOf(
  key: string | undefined,
  request: Request,
  response: Response,
  requestSecret: Buffer,
): Promise<Idempotency | undefined> {
  if (key === undefined) return undefined
  // A parameter changes the meaning of a write, an empty query string does not.
  const { originalUrl, query } = request
  const [path = ''] = Object.keys(query).length > 0 ? [originalUrl] : originalUrl.split('?', 1)
  const { method, body } = request
  const arrived = { method, path, body: body as unknown, rawBody: rawBodyOf(response) }
  return identifyRequest(key, arrived, requestSecret, createTimeSlicer(shareOf(response)))
}
