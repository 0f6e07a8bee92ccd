import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import { type Coding, compressFully, negotiateCoding } from '#http/answers.ts'
import { projectFile } from '#http/assets.ts'
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

/** Where browsers open the till. */
export const TILL_APP = '/caixa'

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  webmanifest: 'application/manifest+json',
}

/** No script but the till's own files, and no address but this service's. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

interface BuiltFile {
  readonly type: string
  readonly bytes: Buffer
  /** Made at the first request of each coding. */
  readonly coded: Map<Coding, Promise<Buffer>>
}

function readBuilt(path: string): BuiltFile {
  const type = TYPES[path.slice(path.lastIndexOf('.') + 1)]
  if (type === undefined) throw new Error(`till: ${path} has no known type`)
  return { type, bytes: readFileSync(path), coded: new Map() }
}

/** The built till: page, worker, and files under names that digest their content. @throws if it was not built */
function readTill(): { readonly page: BuiltFile; readonly worker: BuiltFile; readonly files: Map<string, BuiltFile> } {
  const folder = projectFile('dist/till')
  const files = join(folder, 'files')
  return {
    page: readBuilt(join(folder, 'index.html')),
    worker: readBuilt(join(folder, 'worker.js')),
    files: new Map(readdirSync(files).map((name) => [name, readBuilt(join(files, name))])),
  }
}

async function send(response: Response, { type, bytes, coded }: BuiltFile, caching: string): Promise<void> {
  response.setHeader('Cache-Control', caching)
  response.setHeader('Content-Security-Policy', POLICY)
  response.setHeader('Content-Type', type)
  response.vary('Accept-Encoding')
  const coding = type === 'image/png' ? null : negotiateCoding(response.req.headers['accept-encoding'])
  if (!coding) return void response.send(bytes)
  const making = coded.get(coding) ?? compressFully(bytes, coding)
  coded.set(coding, making)
  response.setHeader('Content-Encoding', coding)
  response.send(await making)
}

const FOREVER = 'public, max-age=31536000, immutable'
/** Browsers ask each time, so that a new version is seen. */
const ASKED = 'no-cache'

/** Serves the till. Its files are read at the first request: other interfaces do without them. */
export function serveTillApp(): Router {
  const router = express.Router({ caseSensitive: true, strict: true })
  let built: ReturnType<typeof readTill> | undefined
  const till = () => {
    built ??= readTill()
    return built
  }
  const get = (path: string, handle: RequestHandler): HttpRoute => ({ method: 'get', path, handlers: [handle] })
  return mountRoutes(router, TILL_APP, [
    get('/', (_request, response) => send(response, till().page, ASKED)),
    get('/worker.js', (_request, response) => {
      response.setHeader('Service-Worker-Allowed', TILL_APP)
      return send(response, till().worker, ASKED)
    }),
    get('/files/:name', (request, response) => {
      const file = till().files.get(String(request.params.name))
      if (!file) throw new Problem('not_found')
      return send(response, file, FOREVER)
    }),
  ])
}
