import type { NextFunction, Request, RequestHandler, Response, Router } from 'express'
import { hashKey, isKey } from '#access/api-keys.ts'
import { PANEL_TOKENS, TILL_TOKENS } from '#access/opaque-token.ts'
import { bearer } from '#http/middleware/unauthenticated-clients.ts'
import { Unavailable, WrongShardError } from '#lib/errors.ts'
import { sessionCookie } from '#panel/session.ts'
import type { Directory } from '#sharding/directory.ts'
import type { CompanyPlacement, EntryKey, EntryKind } from '#sharding/directory-entries.ts'
import type { Shards } from '#sharding/shards.ts'

/** What identifies the company of a request. */
interface Mark {
  readonly kind: EntryKind
  readonly key: EntryKey
}

/** Paths that name an online store and need no authentication. */
const OF_STORE = /^\/(?:pagar|webhook\/paymentprovider)\/([^/]+)/i
/** Pictures of items: the path names the company. */
const OF_PICTURE = /^\/pictures\/([1-9]\d{0,14})\//
const OF_PANEL = /^\/painel(?:\/|$)/i

/** What identifies the company of a request; null if nothing does. */
function markOf(request: Request): Mark | null {
  const { path } = request
  const store = OF_STORE.exec(path)?.[1]
  if (store !== undefined) return aliasMark(store)
  if (OF_PANEL.test(path)) return hashed('session', PANEL_TOKENS.hashOf(sessionCookie(request) ?? ''))
  const token = bearer(request) ?? ''
  return isKey(token) ? { kind: 'api_key', key: hashKey(token) } : hashed('sync_token', TILL_TOKENS.hashOf(token))
}

const hashed = (kind: EntryKind, key: Buffer | null): Mark | null => key && { kind, key }

/** A path that cannot be decoded matches no route, and the router answers it. */
function aliasMark(text: string): Mark | null {
  try {
    return { kind: 'store_alias', key: decodeURIComponent(text) }
  } catch {
    return null
  }
}

interface FrontOptions {
  readonly directory: Pick<Directory, 'find' | 'forget' | 'shardOf'>
  readonly shards: Pick<Shards<Router>, 'main' | 'at'>
}

/**
 * Passes each request to the shard of its company. Requests without a company go to the default shard, which refuses
 * them as usual (SHARD-3, SHARD-4). If a shard reports that the company has migrated, the request is retried once on the
 * new shard, as long as its body was not read (SHARD-7).
 */
export function createShardRouter({ directory, shards }: FrontOptions): RequestHandler {
  async function placeOf(request: Request): Promise<CompanyPlacement | null> {
    const companyId = Number(OF_PICTURE.exec(request.path)?.[1] ?? 0)
    if (companyId > 0) {
      const shard = await directory.shardOf(companyId)
      return shard === null ? null : { companyId, shard }
    }
    const mark = markOf(request)
    const [place] = mark ? await directory.find(mark.kind, mark.key) : []
    return place ?? null
  }

  async function again(
    moved: WrongShardError,
    request: Request,
    response: Response,
    next: NextFunction,
  ): Promise<void> {
    directory.forget(moved.companyId)
    if (request.readableDidRead || response.headersSent) return next(new Unavailable('the company has moved'))
    const place = await placeOf(request)
    const shard = place ? shards.at(place.shard) : shards.main
    shard(request, response, (error?: unknown) =>
      next(error instanceof WrongShardError ? new Unavailable('the company moves') : error),
    )
  }

  return async (request, response, next) => {
    const place = await placeOf(request)
    const shard = place ? shards.at(place.shard) : shards.main
    shard(request, response, (error?: unknown) => {
      if (error instanceof WrongShardError) again(error, request, response, next).catch(next)
      else next(error)
    })
  }
}
