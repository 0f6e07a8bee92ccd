import express, { type Request, type RequestHandler, type Response, type Router } from 'express'
import { type OpenedLink, SHARED } from '#access/shared-links.ts'
import type { HttpRoute } from '#http/edge.ts'
import { limitUnauthenticatedBy, mountRoutes, problemHandler, rateLimitProblem, requireHttps } from '#http/edge.ts'
import { Problem } from '#http/problems.ts'
import { makeSaleReceipt, RECEIPT_PAGE } from '#integrity/sale-receipts.ts'
import { parseSubject } from '#ledger/projection.ts'
import type { CompanyObject } from '#projections/companies.ts'
import type { SaleObject } from '#projections/sales.ts'
import { getRow } from '#queries/event-queries.ts'
import { presentSource, Reader } from '#queries/reader.ts'
import { getSale } from '#queries/sale-queries.ts'
import { sharedDocument } from './layout.tsx'
import { toLogoOrigin } from './pages/company-pages.tsx'
import { CheckLink, ReceiptPaper } from './pages/purchase-pages.tsx'
import { answerPanelFailure } from './panel-answer.tsx'
import { allowImages, pagePolicy } from './panel-cookies.ts'
import type { PanelPage, PanelServices } from './panel-route.ts'

/** What the page of a link reads: names of persons are masked. */
export interface SharedVisit {
  readonly context: PanelServices
  readonly reader: Reader
  readonly company: CompanyObject
  readonly link: OpenedLink
}

/** Programs that draw a preview of a link in a chat: no person has opened it. */
const PREVIEW = /whatsapp|facebookexternalhit|telegrambot|bot\b|preview/i

/** Pages that a link opens without a login (LINK-1280 …). */
export function sharedPages(context: PanelServices): Router {
  const { limits } = context
  const router = express.Router({ caseSensitive: true, strict: true })
  const limitAddress: RequestHandler = async (request, _response, next) => {
    const counted = await limits.checkouts.consume(request.ip ?? '')
    next(counted.limited ? rateLimitProblem(counted) : undefined)
  }
  router.use(pagePolicy, requireHttps(limitUnauthenticatedBy(limits.checkouts)), hideAddress, limitAddress)
  const routes: HttpRoute[] = [
    { method: 'get', path: '/:token', handlers: [(request, response) => show(context, request, response)] },
  ]
  mountRoutes(router, SHARED, routes)
  router.use((_request, _response, next) => next(new Problem('not_found')))
  // The request path is a credential and must not be logged.
  router.use(
    problemHandler((_, error, fields) => context.log('links: request failed', error, fields), answerPanelFailure),
  )
  return router
}

/** The address grants access: no search engine lists it, no other site learns it. */
const hideAddress: RequestHandler = (_request, response, next) => {
  response.setHeader('Referrer-Policy', 'no-referrer')
  response.setHeader('X-Robots-Tag', 'noindex, nofollow')
  next()
}

async function show(context: PanelServices, request: Request, response: Response): Promise<void> {
  const isCounted = request.method === 'GET' && !PREVIEW.test(request.get('user-agent') ?? '')
  const link = await context.access.sharedLinks.open(String(request.params.token), isCounted)
  const visit = link && (await openVisit(context, link))
  const page = visit && (await pageOf(visit))
  if (!visit || !page) throw new Problem('not_found')
  if (page.imageOrigin) allowImages(response, page.imageOrigin)
  response.type('html').send(sharedDocument(page, visit.company.brand_color))
}

async function openVisit(context: PanelServices, link: OpenedLink): Promise<SharedVisit | null> {
  const { companyId } = link
  const sight = { hidesPersons: true, hidesCosts: true, hidesPayables: true, ownSales: null }
  const reader = new Reader(companyId, presentSource(context.reads.poolOf(companyId)), sight)
  const company = (await getRow(reader, 'company', companyId)) as CompanyObject | null
  return company && { context, reader, company, link }
}

function pageOf(visit: SharedVisit): Promise<PanelPage | null> {
  const subject = parseSubject(visit.link.record)
  return subject.type === 'sale' ? receiptPage(visit, subject.id) : Promise.resolve(null)
}

/** A receipt for the customer, without names of persons. */
async function receiptPage({ context, reader, company }: SharedVisit, id: number): Promise<PanelPage | null> {
  const { record } = await getSale(reader, id)
  const made = record && (await makeSaleReceipt({ ...context.proofs, store: context.reads.store, reader }, id))
  if (!record || !made) return null
  const sale = JSON.parse(record) as SaleObject
  return {
    title: `Recibo · ${company.name}`,
    imageOrigin: toLogoOrigin(company),
    body: await ReceiptPaper({
      ...{ company, reader, timezone: company.timezone, code: null },
      sale: { ...sale, customer: null, seller: null },
      children: <CheckLink page={`${context.environment.publicUrl}${RECEIPT_PAGE}`} receipt={made.receipt} />,
    }),
  }
}
