import express, { type Router } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import { routed } from '#http/middleware/observe.ts'
import { requireHttps } from '#http/middleware/transport.ts'
import { limited, limitUnauthenticatedBy } from '#http/middleware/unauthenticated-clients.ts'
import { pathId } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import { findPicture } from '#queries/catalog/item-pictures.ts'

export const PICTURES = '/pictures'

/** Requests per minute and address: a shop's tills share one, and fetch each picture once. */
export const PICTURES_PER_MINUTE = 6_000

const FILE = /^([0-9a-f]{64})\.webp$/

export interface PictureOptions {
  readonly poolOf: PoolOf
  /** Per address. */
  readonly pictureLimit: AddressLimit
}

/** Serves pictures of items. Their addresses name their content, so an answer never changes (ITEM-111). */
export function servePictures({ poolOf, pictureLimit }: PictureOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true })
  const one = router
    .route('/:company_id/:id/:file')
    .all(routed(`${PICTURES}/:company_id/:id/:file`), requireHttps(limitUnauthenticatedBy(pictureLimit)))
  one.get(async (request, response) => {
    const counted = await pictureLimit.consume(request.ip ?? '')
    if (counted.limited) throw limited(counted)
    const { company_id, id, file } = request.params
    const [companyId, itemId, digest] = [pathId(company_id), pathId(id), FILE.exec(file)?.[1]]
    const content =
      companyId === null || itemId === null || digest === undefined
        ? null
        : await findPicture(poolOf(companyId), companyId, itemId, digest)
    if (content === null) throw new Problem('not_found')
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
    response.setHeader('ETag', `"${digest}"`)
    response.setHeader('Content-Security-Policy', "default-src 'none'")
    response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
    if (request.get('if-none-match') === `"${digest}"`) response.status(304).end()
    else response.type('image/webp').send(content)
  })
  one.all(() => {
    throw new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' })
  })
  return router
}
