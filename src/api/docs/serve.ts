import express, { type Router } from 'express'
import type { AddressLimit } from '#access/minute-limit.ts'
import type { Compress } from '#http/compression.ts'
import { limitUnauthenticatedBy } from '#http/middleware/unauthenticated-clients.ts'
import { Problem } from '#http/problems.ts'
import { createFixedAnswer } from '#http/representation.ts'
import { contractOf } from '../contract/document.ts'
import type { Route } from '../route.ts'
import { docsPage } from './page.tsx'
import { STYLE } from './style.ts'
import { webhooksPage } from './webhooks.tsx'

/** Allows only the pages' own style sheet: no scripts, forms or frames. */
const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

interface DocsOptions {
  readonly addresses: AddressLimit
  readonly compress: Compress
}

/** `/docs`: the contract for browsers, without authentication, limited by address (HTTP-14). */
export function serveDocs(routes: readonly Route[], { addresses, compress }: DocsOptions): Router {
  const router = express.Router()
  const limitAnonymous = limitUnauthenticatedBy(addresses)
  const HTML = 'text/html; charset=utf-8'
  const files = {
    '/': createFixedAnswer(() => docsPage(contractOf(routes)), compress, HTML),
    '/webhooks': createFixedAnswer(() => webhooksPage(contractOf(routes)), compress, HTML),
    '/style.css': createFixedAnswer(() => STYLE, compress, 'text/css; charset=utf-8'),
  }
  for (const [path, send] of Object.entries(files)) {
    router.all(path, async (request, response) => {
      response.setHeader('Content-Security-Policy', POLICY)
      await limitAnonymous(request, response)
      if (!['GET', 'HEAD'].includes(request.method))
        throw new Problem('method_not_allowed', undefined, { Allow: 'GET, HEAD' })
      response.setHeader('Vary', 'Accept-Encoding')
      // Browsers revalidate with the ETag.
      response.setHeader('Cache-Control', 'no-cache')
      await send(response)
    })
  }
  return router
}
