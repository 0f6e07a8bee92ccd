import type { Pool } from 'pg'
import type { z } from 'zod'
import { atExternalId } from '../../../commands/records/external-id.ts'
import type { Page } from '../../../queries/list.ts'
import type { Scope } from '../../access/scopes.ts'
import type { Command } from '../../ledger/command.ts'
import { list, single } from '../answer.ts'
import { Problem } from '../problems.ts'
import { batch, pathId, type ReadContext, type Route, read, withId, write } from '../route.ts'
import { deletedQuery, listQuery } from './list-query.ts'

/** A record's JSON text with the revision that it shows, or null when there is none. */
type GetRecord = (pool: Pool, companyId: number, id: number) => Promise<{ record: string; revision: number } | null>

/** A page of a list; null when the cursor is broken, or was made for other filters. */
type ListRecords<Q> = (pool: Pool, companyId: number, query: Q) => Promise<Page | null>

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
    read: async (context) => answerPage(await page(context.pool, context.caller.companyId, context.query), context),
  })
}

/** The listing of what was deleted, for those who keep a copy. */
export function deletedRoute(route: {
  path: string
  scope: Scope
  summary: string
  list: ListRecords<z.infer<typeof deletedQuery>>
}): Route {
  return read({
    ...route,
    query: deletedQuery,
    read: async (context) => answerPage(await route.list(context.pool, context.caller.companyId, context.query), context),
  })
}

function answerPage(page: Page | null, { query }: ReadContext<{ limit: number }>) {
  if (!page) {
    const message = 'não vale para esta lista: repita a busca sem cursor'
    throw new Problem('validation_failed', { fields: { cursor: [message] }, unknown_fields: [] })
  }
  return { body: list({ ...page, limit: query.limit }), revision: page.revision }
}

/** One record by the id in the path. */
export function getRoute(route: { path: string; scope: Scope; summary: string; get: GetRecord }): Route {
  return read({
    ...route,
    async read({ pool, caller, params }) {
      const id = pathId(params.id)
      const found = id === null ? null : await route.get(pool, caller.companyId, id)
      return found && { body: single(found.record), revision: found.revision }
    },
  })
}

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
    deletedRoute({ path: `${path}/deleted`, scope: reading, summary: `Lista ${all} que foram excluídos`, list: resource.deleted }),
    getRoute({ path: `${path}/:id`, scope: reading, summary: `Mostra ${one}`, get: resource.get }),
    write({ method: 'post', path, scope, summary: `Cria ${one}`, ...create, input: (_params, body) => body }),
    batch({ path: `${path}/batch`, scope, summary: `Cria ou substitui até 500 registros`, item: replace.item, batch: replace.command }),
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
