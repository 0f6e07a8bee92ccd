import type { NextFunction, Request, RequestHandler, Response, Router } from 'express'
import { hashKey, isKey } from '#access/api-keys.ts'
import { PANEL_TOKENS, TILL_TOKENS } from '#access/opaque-token.ts'
import { bearer } from '#http/middleware/unauthenticated-clients.ts'
import { Unavailable } from '#lib/errors.ts'
import { WrongShardError } from '#lib/moved.ts'
import { sessionCookie } from '#panel/session.ts'
import type { Directory } from '#sharding/directory.ts'
import type { CompanyPlacement, EntryKey, EntryKind } from '#sharding/directory-entries.ts'
import type { Shards } from '#sharding/shards.ts'

/** By what the company of a call is found. */
interface Mark {
  readonly kind: EntryKind
  readonly key: EntryKey
}

/** Paths that name an online store, whoever calls. */
const OF_STORE = /^\/(?:pagar|webhook\/paymentprovider)\/([^/]+)/i
const OF_PANEL = /^\/painel(?:\/|$)/i

/** What a call says of whose it is; null where that could be nobody's. */
function markOf(request: Request): Mark | null {
  const { path } = request
  const store = OF_STORE.exec(path)?.[1]
  if (store !== undefined) return aliasMark(store)
  if (OF_PANEL.test(path)) return hashed('session', PANEL_TOKENS.hashOf(sessionCookie(request) ?? ''))
  const token = bearer(request) ?? ''
  return isKey(token) ? { kind: 'api_key', key: hashKey(token) } : hashed('sync_token', TILL_TOKENS.hashOf(token))
}

const hashed = (kind: EntryKind, key: Buffer | null): Mark | null => key && { kind, key }

/** What cannot be decoded is no path of ours: the router says so. */
function aliasMark(text: string): Mark | null {
  try {
    return { kind: 'store_alias', key: decodeURIComponent(text) }
  } catch {
    return null
  }
}

interface FrontOptions {
  readonly directory: Pick<Directory, 'find' | 'forget'>
  readonly homes: Pick<Shards<Router>, 'main' | 'at'>
}

/**
 * Hands each call to the home of its company, and what is of none to `main`, which refuses it as it refuses everything (HOME-3,
 * HOME-4). A home that says that the company has moved is believed once, as long as nothing of the body was read (HOME-7).
 */
export function createShardRouter({ directory, homes }: FrontOptions): RequestHandler {
  async function placeOf(request: Request): Promise<CompanyPlacement | null> {
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
    const home = place ? homes.at(place.home) : homes.main
    home(request, response, (error?: unknown) =>
      next(error instanceof WrongShardError ? new Unavailable('the company moves') : error),
    )
  }

  return async (request, response, next) => {
    const place = await placeOf(request)
    const home = place ? homes.at(place.home) : homes.main
    home(request, response, (error?: unknown) => {
      if (error instanceof WrongShardError) again(error, request, response, next).catch(next)
      else next(error)
    })
  }
}
