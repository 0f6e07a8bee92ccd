import type { Pool } from 'pg'
import type { z } from 'zod'
import { atExternalId } from '../../../commands/records/external-id.ts'
import type { Found } from '../../../queries/get.ts'
import type { Page } from '../../../queries/list.ts'
import type { Scope } from '../../access/scopes.ts'
import type { Calendar } from '../../domain/instant.ts'
import type { Refusal } from '../../domain/refusal.ts'
import { type Command, isRefusal } from '../../ledger/command.ts'
import { list, single } from '../answer.ts'
import { Problem } from '../problems.ts'
import { batch, pathId, type ReadAnswer, type ReadContext, type Route, read, withId, write } from '../route.ts'
import { deletedQuery, listQuery } from './list-query.ts'

/** `calendar` is the company's, for what its day changes. */
type GetRecord = (pool: Pool, companyId: number, id: number, calendar: Calendar) => Promise<Found>

/** A page of a list; a refusal where the cursor is broken or was made for other filters. */
type ListRecords<Q> = (pool: Pool, companyId: number, query: Q, calendar: Calendar) => Promise<Page | Refusal>

interface ListDescription<F extends z.ZodRawShape> {
  readonly path: string
  readonly scope: Scope
  readonly summary: string
  readonly filters: F
  readonly list: ListRecords<z.infer<ReturnType<typeof listQuery<F>>>>
}

/** A list with paging, `updated_since` and the resource's own filters. */
export function listRoute<F extends z.ZodRawShape>({ filters, list: page, ...route }: ListDescription<F>): Route {
  return read({
    ...route,
    query: listQuery(filters) as z.ZodType<z.infer<ReturnType<typeof listQuery<F>>> & { limit: number }>,
    read: (context) => answerPage(page, context),
  })
}

/** The listing of what was deleted, for those who keep a copy. */
export function deletedRoute(route: {
  path: string
  scope: Scope
  summary: string
  list: ListRecords<z.infer<typeof deletedQuery>>
}): Route {
  const { list: page, ...rest } = route
  return read({ ...rest, query: deletedQuery, read: (context) => answerPage(page, context) })
}

async function answerPage<Q extends { limit: number }>(
  records: ListRecords<Q>,
  { pool, caller, query }: ReadContext<Q>,
) {
  const page = await records(pool, caller.companyId, query, caller)
  if (isRefusal(page)) throw new Problem(page.refused, page.details)
  return { body: list({ ...page, limit: query.limit }), revision: page.revision }
}

/** One record by the id in the path. */
export function getRoute({ get, ...route }: { path: string; scope: Scope; summary: string; get: GetRecord }): Route {
  return read({
    ...route,
    async read({ pool, caller, params }) {
      const id = pathId(params.id)
      return id === null ? null : answerRecord(await get(pool, caller.companyId, id, caller))
    },
  })
}

/** A found record, or null, which becomes a 404. */
export const answerRecord = ({ record, revision }: Found): ReadAnswer | null =>
  record === null ? null : { body: single(record), revision }

/** A resource with all the operations that the contract gives to records: list, get, deleted, POST, batch, PUT by-external, PATCH, DELETE. */
interface RecordResource<F extends z.ZodRawShape, C, R, P extends object> {
  readonly path: string
  /** First half of its scopes: `customers` of `customers:read`. */
  readonly area: 'catalog' | 'customers' | 'suppliers' | 'finance'
  /** In Portuguese, with article: `um cliente`, `os clientes`. */
  readonly one: string
  readonly all: string
  readonly filters: F
  readonly list: ListRecords<z.infer<ReturnType<typeof listQuery<F>>>>
  readonly deleted: ListRecords<z.infer<typeof deletedQuery>>
  readonly get: GetRecord
  readonly create: { readonly body: z.ZodType<C>; readonly command: Command<C> }
  readonly replace: { readonly item: z.ZodType<R>; readonly command: Command<R> }
  readonly update: { readonly body: z.ZodType<P>; readonly command: Command<{ id: number; changes: P }> }
  readonly remove: Command<{ id: number }>
}

/** The routes of such a resource; fixed paths stand before those with an id. */
export function recordRoutes<F extends z.ZodRawShape, C extends { external_id?: string | null }, R, P extends object>(
  resource: RecordResource<F, C, R, P>,
): Route[] {
  const { path, area, one, all, create, replace, update } = resource
  const reading = `${area}:read` as const
  const scope = `${area}:write` as const
  return [
    listRoute({ path, scope: reading, summary: `Lista ${all}`, filters: resource.filters, list: resource.list }),
    deletedRoute({
      path: `${path}/deleted`,
      scope: reading,
      summary: `Lista o que foi excluído entre ${all}`,
      list: resource.deleted,
    }),
    getRoute({ path: `${path}/:id`, scope: reading, summary: `Mostra ${one}`, get: resource.get }),
    write({ method: 'post', path, scope, summary: `Cria ${one}`, ...create, input: (_params, body) => body }),
    batch({
      path: `${path}/batch`,
      scope,
      summary: `Cria ou substitui até 500 registros`,
      item: replace.item,
      batch: replace.command,
    }),
    write({
      method: 'put',
      path: `${path}/by-external/:external_id`,
      scope,
      summary: `Cria ou substitui ${one} pelo external_id`,
      body: create.body,
      command: replace.command,
      input: (params, body) => atExternalId(params.external_id ?? '', body) as R,
    }),
    write({
      method: 'patch',
      path: `${path}/:id`,
      scope,
      summary: `Altera campos de ${one}`,
      body: update.body,
      command: update.command,
      input: (params, changes) => withId(params, { changes }),
    }),
    write({
      method: 'delete',
      path: `${path}/:id`,
      scope,
      summary: `Exclui ${one}`,
      command: resource.remove,
      input: (params) => withId(params, {}),
    }),
  ]
}
