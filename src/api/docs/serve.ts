import express, { type RequestHandler, type Router } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import type { Compress } from '#http/compression.ts'
import { limitUnauthenticatedBy, publicDocument } from '#http/middleware/unauthenticated-clients.ts'
import { createFixedAnswer } from '#http/representation.ts'
import { guidePage, guidesPage, type ReferencePage, referencePage } from './guide-pages.tsx'
import { guidesIn } from './guides.ts'
import { homePage } from './home.tsx'
import { docsPage } from './page.tsx'
import { postmanOf } from './postman.ts'
import { resourcePage } from './resource.tsx'
import { SEARCH } from './search.ts'
import { type PublishedContract, type Site, siteOf } from './site.ts'
import { STYLE } from './style.ts'
import { webhooksPage } from './webhooks.tsx'

/** Allows only the pages' own style sheet and icon, and scripts where a page has one: no forms or frames. */
const policyOf = (scripts: string): string =>
  `default-src 'none'; ${scripts}style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const WITHOUT_SCRIPTS = policyOf('')
const WITH_OWN_SCRIPT = policyOf("script-src 'self'; ")

interface DocsOptions {
  readonly addresses: AddressLimit
  readonly compress: Compress
  readonly publicUrl: string
}

/** What the code says of itself: the contracts, and further pages. */
interface Published {
  readonly contracts: () => readonly PublishedContract[]
  readonly references: readonly ReferencePage[]
}

interface DocsFile {
  readonly make: () => string
  readonly type?: string
  readonly policy?: string
}

const CSS = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** Every file of `/docs`, by path; the contracts are generated with the first page that needs them. */
function filesOf(site: () => Site, references: readonly ReferencePage[]): Readonly<Record<string, DocsFile>> {
  const languages = [
    ['/docs/guias', 'pt-BR'],
    ['/docs/guides', 'en'],
  ] as const
  return {
    '/docs': { make: () => docsPage(site()), policy: WITH_OWN_SCRIPT },
    '/docs/webhooks': { make: () => webhooksPage(site()) },
    '/docs/postman.json': { make: () => JSON.stringify(postmanOf(site()), null, 1), type: JSON_TYPE },
    '/docs/style.css': { make: () => STYLE, type: CSS },
    '/docs/busca.js': { make: () => SEARCH, type: SCRIPT },
    ...Object.fromEntries(
      languages.flatMap(([folder, language]) => [
        [folder, { make: () => guidesPage(language) }],
        ...guidesIn(language).map((name) => [`${folder}/${name}`, { make: () => guidePage(name, language) }]),
      ]),
    ),
    ...Object.fromEntries(references.map((page) => [page.path, { make: () => referencePage(page) }])),
  }
}

/** `/docs`: contracts, guides and references for browsers, without authentication, limited by address (HTTP-14). */
export function serveDocs({ contracts, references }: Published, options: DocsOptions): Router {
  const router = express.Router()
  let made: Site | undefined
  const site = (): Site => {
    made ??= siteOf(options.publicUrl, contracts())
    return made
  }
  for (const [path, file] of Object.entries(filesOf(site, references)))
    router.all(path.slice('/docs'.length) || '/', answerWith(file, options))
  const pages = new Map<string, RequestHandler>()
  router.all('/recursos/:name', (request, response, next) => {
    const resource = site().resources.find(({ page }) => page === `/docs/recursos/${request.params.name}`)
    if (!resource) return next()
    const answer =
      pages.get(resource.page) ?? answerWith({ make: () => resourcePage(site().publicUrl, resource) }, options)
    pages.set(resource.page, answer)
    return answer(request, response, next)
  })
  return router
}

/** The page at `/`. */
export const serveHome = (places: Parameters<typeof homePage>[0], options: DocsOptions): RequestHandler =>
  answerWith({ make: () => homePage(places) }, options)

function answerWith(
  { make, type = 'text/html; charset=utf-8', policy = WITHOUT_SCRIPTS }: DocsFile,
  options: DocsOptions,
): RequestHandler {
  const send = createFixedAnswer(make, options.compress, type)
  const document = publicDocument(limitUnauthenticatedBy(options.addresses), (_request, response) => {
    response.setHeader('Vary', 'Accept-Encoding')
    // Browsers revalidate with the ETag.
    response.setHeader('Cache-Control', 'no-cache')
    return send(response)
  })
  return (request, response, next) => {
    response.setHeader('Content-Security-Policy', policy)
    return document(request, response, next)
  }
}
