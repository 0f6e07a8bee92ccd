import express, { type Router } from 'express'
import { contractOf } from '../contract/document.ts'
import type { Route } from '../route.ts'
import { docsPage } from './page.tsx'
import { STYLE } from './style.ts'
import { webhooksPage } from './webhooks.tsx'

/** Nothing but the pages' own style sheet may be loaded, and nothing may run or be sent. */
const POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const PAGES = { '/': docsPage, '/webhooks': webhooksPage }

/** `/docs`: the contract for a person with a browser, without a key. A page is made when it is first asked for. */
export function serveDocs(routes: readonly Route[]): Router {
  const router = express.Router()
  router.use((_request, response, next) => {
    response.setHeader('Content-Security-Policy', POLICY)
    next()
  })
  for (const [path, pageOf] of Object.entries(PAGES)) {
    let page: string | undefined
    router.get(path, (_request, response) => {
      page ??= pageOf(contractOf(routes))
      response.type('html').send(page)
    })
  }
  router.get('/style.css', (_request, response) => {
    response.type('css').send(STYLE)
  })
  return router
}
