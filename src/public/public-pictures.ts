import express, { type Request, type Response, type Router } from 'express'
import { type HttpRoute, limitUnauthenticatedBy, mountRoutes, rateLimitProblem, requireHttps } from '#http/edge.ts'
import { pathId } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import { findLogo, findPicture } from '#queries/company-queries.ts'
import { fullReader } from '#queries/reader.ts'
import type { Services } from '#services.ts'

export const PICTURES = '/pictures'

/** Requests per minute and address: a shop's tills share one, and fetch each picture once. */
export const PICTURES_PER_MINUTE = 6_000

const FILE = /^([0-9a-f]{64})\.webp$/

/** Bytes of the picture that a request names by its digest; null if there is none. */
type FindByDigest = (request: Request, companyId: number, digest: string) => Promise<Buffer | null>

/** Serves pictures of items and logos. Their addresses name their content, so an answer never changes. */
export function servePictures({ reads: { poolOf }, limits }: Pick<Services, 'reads' | 'limits'>): Router {
  const router = express.Router({ caseSensitive: true, strict: true })

  async function answer(request: Request, response: Response, find: FindByDigest): Promise<void> {
    const counted = await limits.pictures.consume(request.ip ?? '')
    if (counted.limited) throw rateLimitProblem(counted)
    const { company_id, file } = request.params as { company_id: string; file: string }
    const [companyId, digest] = [pathId(company_id), FILE.exec(file)?.[1]]
    const content = companyId === null || digest === undefined ? null : await find(request, companyId, digest)
    if (content === null) throw new Problem('not_found')
    response.setHeader('Cache-Control', 'public, max-age=31536000, immutable')
    response.setHeader('ETag', `"${digest}"`)
    response.setHeader('Content-Security-Policy', "default-src 'none'")
    response.setHeader('Cross-Origin-Resource-Policy', 'cross-origin')
    if (request.get('if-none-match') === `"${digest}"`) response.status(304).end()
    else response.type('image/webp').send(content)
  }

  const at = (path: string, find: FindByDigest): HttpRoute => ({
    ...{ method: 'get', path },
    handlers: [(request, response) => answer(request, response, find)],
  })
  const logo = at('/:company_id/logo/:file', (_request, companyId, digest) =>
    findLogo(fullReader(poolOf(companyId), companyId), digest),
  )
  const picture = at('/:company_id/:id/:file', async ({ params }, companyId, digest) => {
    const itemId = pathId(params.id as string)
    return itemId === null ? null : findPicture(fullReader(poolOf(companyId), companyId), itemId, digest)
  })
  return mountRoutes(router, PICTURES, [logo, picture], {
    first: [requireHttps(limitUnauthenticatedBy(limits.pictures))],
  })
}
