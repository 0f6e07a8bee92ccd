import * as z from 'zod'
import { atExternalId, type Warning } from '#commands/record-commands.ts'
import type { Calendar } from '#domain/instant.ts'
import type { PaymentLinks } from '#domain/order-states.ts'
import type { Refusal, RefusalCode } from '#domain/refusals.ts'
import type { Scope } from '#domain/rights.ts'
import { ExternalId, limitedText } from '#domain/text.ts'
import { type Params, pathId, withId } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import { type Command, isRefusal } from '#ledger/command.ts'
import { toPooledBytes } from '#lib/fair-sharing.ts'
import type { Reader } from '#queries/reader.ts'
import type { FoundRecords, Page } from '#queries/record-queries.ts'
import { asInteger, QueryFlag, QueryInstant } from '#records/field.ts'
import {
  batchRoute,
  commandRoute,
  type ReadAnswer,
  type ReadContext,
  type Route,
  type RouteTarget,
  readRoute,
  single,
} from '../api-route.ts'
import {
  batchResultSchema,
  deletedPageSchema,
  pageSchema,
  singleSchema,
  warnedSchema,
} from '../contract/contract-document.ts'

const DEFAULT_LIMIT = 50
/** Maximum page size. A larger limit is refused instead of clamped, so that clients do not miss records. */
export const MAX_LIMIT = 200

const LIMIT = `deve ser um número inteiro de 1 a ${MAX_LIMIT}`

const Limit = limitedText(10, LIMIT)
  .regex(/^\d{1,4}$/, LIMIT)
  .transform(Number)
  .refine((limit) => limit >= 1 && limit <= MAX_LIMIT, LIMIT)
  .default(DEFAULT_LIMIT)
  .meta({ override: asInteger({ minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }) })

/** Ledger revision in a query string; -1 precedes the first event. */
export const QueryRevision = limitedText(20)
  .regex(/^(-1|0|[1-9]\d{0,14})$/, 'deve ser uma revisão do livro: um número inteiro a partir de -1')
  .transform(Number)
  .meta({ override: asInteger({ minimum: -1 }) })

const paging = { limit: Limit, cursor: z.string().max(2000).optional() }

/** Parameters of a list: paging, `updated_since`, and the resource's filters. Others are refused. */
export const listQuery = <S extends z.ZodRawShape>(filters: S) =>
  z.strictObject({ ...paging, updated_since: QueryInstant.optional(), ...filters })

/** Parameters of a list of immutable records: paging and filters. */
export const pageQuery = <S extends z.ZodRawShape>(filters: S) => z.strictObject({ ...paging, ...filters })

/** Parameters of a deleted listing. */
const deletedQuery = z.strictObject({ ...paging, since: QueryInstant.optional() })

/** Inputs of an answer besides the tables: the company's day, and the payment links of buyers. */
interface AnswerInputs extends Calendar {
  readonly paymentLinks: PaymentLinks
}

type GetRecord<K = number> = (reader: Reader, key: K, showing: AnswerInputs) => Promise<FoundRecords>

/** A page of a list; a refusal if the cursor is malformed or belongs to other filters. */
type ListRecords<Q> = (reader: Reader, query: Q, showing: AnswerInputs) => Promise<Page | Refusal>

/** Description shared by all routes of a resource. */
interface Description {
  readonly path: string
  readonly scope: Scope
  readonly alsoScope?: Scope
  readonly operation: string
  readonly summary: string
  readonly description?: string
}

interface ListDescription<F extends z.ZodRawShape> extends Description {
  /** A record in the list. */
  readonly record: z.ZodType
  readonly filters: F
  readonly list: ListRecords<z.infer<ReturnType<typeof listQuery<F>>>>
  readonly ofLedger: boolean
  /** The records survive a reset of a test company. */
  readonly outlastsReset?: true
}

/** A list with paging, `updated_since` and the resource's filters. */
export function listRoute<F extends z.ZodRawShape>({
  filters,
  record,
  list,
  outlastsReset,
  ...route
}: ListDescription<F>): Route {
  return readRoute({
    ...route,
    query: listQuery(filters) as z.ZodType<z.infer<ReturnType<typeof listQuery<F>>> & { limit: number }>,
    reply: pageSchema(record),
    refusals: outlastsReset ? [] : ['test_data_erased'],
    read: (context) => readPage(list, context),
  })
}

/** List of deleted records, for clients that keep a copy. */
function deletedRoute({
  list,
  ...route
}: Description & { readonly list: ListRecords<z.infer<typeof deletedQuery>> }): Route {
  return readRoute({
    ...route,
    query: deletedQuery,
    reply: deletedPageSchema,
    refusals: ['test_data_erased'],
    ofLedger: true,
    read: (context) => readPage(list, context),
  })
}

async function readPage<Q extends { limit: number }>(
  records: ListRecords<Q>,
  { reader, caller, paymentLinks, query }: ReadContext<Q>,
): Promise<ReadAnswer> {
  return answerPage(await records(reader, query, { ...caller, paymentLinks }), query.limit)
}

/**
 * `{"data": […], "meta": {…}}` of a page, whose `data` is the records' JSON text joined by commas. @throws
 * Problem (422) if the cursor is malformed or belongs to other filters.
 */
export function answerPage(found: Page | Refusal, limit: number): ReadAnswer {
  if (isRefusal(found)) throw new Problem(found.refused, found.details)
  const { data, has_more, next, synced_at, revision, tables } = found
  const meta = { has_more, next_cursor: next, limit, synced_at }
  const { bytes: body, release } = toPooledBytes('{"data":[', data, `],"meta":${JSON.stringify(meta)}}`)
  found.release?.()
  return { body, release, revision, tables }
}

interface GetDescription<K> extends Description {
  readonly record: z.ZodType
  readonly get: GetRecord<K>
  readonly fromReplica?: boolean
}

/** Reads a record by the id in the path. */
export const getRoute = (route: GetDescription<number>): Route => getBy(route, ({ id }) => pathId(id))

/** Reads a record by the client's external id in the path. */
export const getByExternalRoute = (route: GetDescription<string>): Route =>
  getBy(route, ({ external_id }) => ExternalId.safeParse(external_id).data ?? null)

/** `keyOf` returns null if the path names no possible record. */
function getBy<K>({ get, record, ...route }: GetDescription<K>, keyOf: (params: Params) => K | null): Route {
  return readRoute({
    ...route,
    reply: singleSchema(record),
    async read({ reader, caller, paymentLinks, params }) {
      const key = keyOf(params)
      return key === null ? null : answerRecord(await get(reader, key, { ...caller, paymentLinks }))
    },
  })
}

/** Answer of a found record; null becomes a 404. */
export const answerRecord = ({ record, revision }: FoundRecords): ReadAnswer | null =>
  record === null ? null : { body: single(record), revision }

/** A resource with all standard operations: list, get, deleted, POST, batch, GET and PUT by-external, PATCH, DELETE. */
interface RecordResource<F extends z.ZodRawShape, C, R, P extends object> {
  readonly path: string
  /** First half of its scopes: `customers` of `customers:read`. */
  readonly area: 'catalog' | 'customers' | 'suppliers' | 'finance'
  /** In Portuguese, with article: `um cliente`, `os clientes`. */
  readonly one: string
  readonly all: string
  /** Singular and plural in operation ids: `Customer`, `Customers`. */
  readonly names: readonly [one: string, many: string]
  /** A record in answers. */
  readonly record: z.ZodType
  /** For If-Match. */
  readonly target: Required<RouteTarget>
  /** Example bodies for the contract: a whole record with its external id, and changes. */
  readonly examples: { readonly whole: { readonly external_id: string }; readonly changes: object }
  /** Error codes of each command, beyond those that follow from the route's shape. */
  readonly refusals: {
    readonly [C in 'create' | 'replace' | 'update' | 'remove']?: readonly RefusalCode[]
  }
  readonly filters: F
  readonly list: ListRecords<z.infer<ReturnType<typeof listQuery<F>>>>
  readonly deleted: ListRecords<z.infer<typeof deletedQuery>>
  readonly get: GetRecord
  readonly getByExternalId: GetRecord<string>
  readonly create: { readonly body: z.ZodType<C>; readonly command: Command<C> }
  readonly replace: {
    readonly item: z.ZodType<R>
    /** Body of PUT by-external, if POST takes more. */
    readonly body?: z.ZodType<Omit<R, 'external_id'> & { external_id?: string | null }>
    readonly command: Command<R>
  }
  readonly update: { readonly body: z.ZodType<P>; readonly command: Command<{ id: number; changes: P }> }
  readonly remove: Command<{ id: number; force?: boolean | undefined }>
  /** `force=true` deletes what is refused without. */
  readonly canBeForced?: { readonly description: string }
  /** Warnings for a body, or for an item of a batch. */
  warnings?(body: C | R | P): Warning[]
  /** `strict=true` refuses what the commands would warn of. */
  readonly canBeStrict?: true
}

/** Parameter of writes that may warn of other records. */
const STRICT = z.strictObject({
  strict: QueryFlag,
})

/** Parameter of deletions that may be refused. */
const FORCE = z.strictObject({
  force: QueryFlag,
})

/** Query and use of `strict` in the routes of a resource. */
const strictness = ({ canBeStrict }: { readonly canBeStrict?: true }) => ({
  ...(canBeStrict && { query: STRICT }),
  withStrict: <I extends object | null>(input: I, query: unknown): I =>
    input && (query as z.infer<typeof STRICT>).strict ? { ...input, strict: true } : input,
})

/** Routes of a resource; fixed paths precede those with an id. */
export function recordRoutes<F extends z.ZodRawShape, C extends { external_id?: string | null }, R, P extends object>(
  resource: RecordResource<F, C, R, P>,
): Route[] {
  return [...readingRoutes(resource), ...writingRoutes(resource), ...routesById(resource)]
}

function readingRoutes<F extends z.ZodRawShape, C, R, P extends object>(resource: RecordResource<F, C, R, P>): Route[] {
  const { path, area, one, all, names, record, filters } = resource
  const [name, many] = names
  const scope = `${area}:read` as const
  return [
    listRoute({
      path,
      scope,
      operation: `list${many}`,
      summary: `Lista ${all}`,
      record,
      filters,
      list: resource.list,
      ofLedger: true,
    }),
    deletedRoute({
      path: `${path}/deleted`,
      scope,
      operation: `listDeleted${many}`,
      summary: `Lista o que foi excluído entre ${all}`,
      description: 'Na ordem da exclusão. Um registro restaurado por PUT by-external sai desta lista.',
      list: resource.deleted,
    }),
    getByExternalRoute({
      path: `${path}/by-external/:external_id`,
      scope,
      operation: `get${name}ByExternalId`,
      summary: `Mostra ${one} pelo external_id`,
      record,
      get: resource.getByExternalId,
      fromReplica: true,
    }),
    getRoute({
      path: `${path}/:id`,
      scope,
      operation: `get${name}`,
      summary: `Mostra ${one}`,
      record,
      get: resource.get,
      fromReplica: true,
    }),
  ]
}

function writingRoutes<F extends z.ZodRawShape, C extends { external_id?: string | null }, R, P extends object>(
  resource: RecordResource<F, C, R, P>,
): Route[] {
  const { path, area, one, names, record, create, replace, refusals, warnings } = resource
  const { withStrict, ...query } = strictness(resource)
  const reply = warnings ? warnedSchema(record) : singleSchema(record)
  const [name, many] = names
  const scope = `${area}:write` as const
  const { whole } = resource.examples
  const { external_id: _, ...withoutId } = whole
  return [
    commandRoute({
      method: 'post',
      path,
      scope,
      operation: `create${name}`,
      summary: `Cria ${one}`,
      ...create,
      ...query,
      example: whole,
      reply,
      warnings,
      refusals: refusals.create,
      input: (_params, body, _dependencies, query) => withStrict(body as C & object, query),
    }),
    batchRoute({
      path: `${path}/batch`,
      scope,
      operation: `batch${many}`,
      summary: `Cria ou substitui até 500 registros`,
      description: 'Cada item é o de PUT by-external e é julgado por si: os erros de um não impedem os outros.',
      item: replace.item,
      example: { items: [whole] },
      reply: batchResultSchema(record),
      itemRefusals: refusals.replace ?? [],
      batch: replace.command,
      ...query,
      withQuery: (item, query) => withStrict(item as R & object, query),
      warnings,
    }),
    commandRoute({
      method: 'put',
      path: `${path}/by-external/:external_id`,
      scope,
      operation: `replace${name}ByExternalId`,
      summary: `Cria ou substitui ${one} pelo external_id`,
      description: 'Repetível. Campos opcionais ausentes são limpos; um registro excluído volta a existir.',
      body: (replace.body ?? create.body) as typeof create.body,
      example: withoutId,
      reply,
      warnings,
      command: replace.command,
      target: resource.target,
      ...query,
      refusals: refusals.replace,
      input: (params, body, _dependencies, query) =>
        withStrict(atExternalId(params.external_id ?? '', body), query) as R,
    }),
  ]
}

function routesById<F extends z.ZodRawShape, C, R, P extends object>(resource: RecordResource<F, C, R, P>): Route[] {
  const { area, one, names, record, update, refusals, examples, warnings, canBeForced } = resource
  const { withStrict, ...query } = strictness(resource)
  const [name] = names
  const path = `${resource.path}/:id`
  const scope = `${area}:write` as const
  return [
    commandRoute({
      method: 'patch',
      path,
      scope,
      operation: `update${name}`,
      summary: `Altera campos de ${one}`,
      description: 'Campos ausentes ficam como estão; `null` limpa os opcionais.',
      ...update,
      example: examples.changes,
      target: { kind: resource.target.kind },
      reply: warnings ? warnedSchema(record) : singleSchema(record),
      warnings,
      refusals: refusals.update,
      ...query,
      input: (params, changes, _dependencies, query) => withStrict(withId(params, { changes }), query),
    }),
    commandRoute({
      method: 'delete',
      path,
      scope,
      operation: `delete${name}`,
      summary: `Exclui ${one}`,
      command: resource.remove,
      target: { kind: resource.target.kind },
      refusals: refusals.remove,
      ...(canBeForced && { description: canBeForced.description, query: FORCE }),
      input: (params, _body, _dependencies, query) =>
        withId(params, { force: (query as z.infer<typeof FORCE> | undefined)?.force }),
    }),
  ]
}
