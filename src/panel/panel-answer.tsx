import type { Request, RequestHandler, Response } from 'express'
import type { ShopBrand } from '#access/email.ts'
import { type Problem, toHttpStatus } from '#http/problems.ts'
import type { PendingCounts } from '#queries/company-queries.ts'
import { panelDocument, plainDocument } from './layout.tsx'
import { link, PANEL } from './page-context.ts'
import { allowCamera, allowImages, forgetDone, noteDone } from './panel-cookies.ts'
import type { PageContext, PanelPage, PanelRoute, Section } from './panel-route.ts'
import { type FlashCode, problemMessage, problemTitle } from './words/message-words.ts'

/** Menu section and page context of a response. */
export interface ResponseTarget {
  /** Null for an unknown address. */
  readonly section: Section | null
  readonly visit: PageContext
  /** Null on error pages and in partial responses. */
  readonly waiting?: PendingCounts | null
}

export function sendPanelPage(
  response: Response,
  page: PanelPage,
  { section, visit, waiting = null }: ResponseTarget,
): void {
  if (visit.flash) forgetDone(response)
  if (page.imageOrigin) allowImages(response, page.imageOrigin)
  const html = panelDocument(page, { section, visit, waiting })
  // Quotation marks are escaped in texts: only a button has this.
  if (html.includes(' data-scan="')) allowCamera(response)
  response
    .status(page.status ?? 200)
    .type('html')
    .send(html)
}

export function sendPlainPage(response: Response, page: PanelPage): void {
  response
    .status(page.status ?? 200)
    .type('html')
    .send(plainDocument(page, (response.locals.shop ?? null) as ShopBrand | null))
}

/**
 * Status 303: the browser continues with GET, so that going back or reloading does not repeat the form. The next page
 * shows `done`.
 */
export function sendRedirect(response: Response, to: string, done?: FlashCode): void {
  if (done) noteDone(response, done)
  response.redirect(303, done ? `${to}${to.includes('?') ? '&' : '?'}feito=${done}` : to)
}

/** Renders a problem as a page, with the menu if a user is logged in. */
export function answerPanelFailure(response: Response, problem: Problem): void {
  for (const [name, value] of Object.entries(problem.headers)) response.setHeader(name, value)
  const fields = Object.values((problem.details?.fields ?? {}) as Record<string, string[]>).flat()
  const body = (
    <>
      <p>{problemMessage(problem)}</p>
      {fields.map((message) => (
        <p key={message}>{message}</p>
      ))}
      <p>
        <a href={link('/')}>Ir para o início</a>
      </p>
      <p class="hint">Código da requisição: {response.locals.requestId as string}</p>
    </>
  )
  const page = { title: problemTitle(problem), status: toHttpStatus(problem.code), body }
  const place = response.locals.place as ResponseTarget | undefined
  if (place) sendPanelPage(response, page, place)
  else sendPlainPage(response, page)
}

/** Whether another site sent the browser here. A client without the header is no browser, or an old one. */
export const isCrossSite = (request: Request): boolean => request.get('sec-fetch-site') === 'cross-site'

/**
 * Whether a link on another site may open a page directly: only the present state of one record. Lists, totals, files,
 * the past and the audit cost more, and another site could request them without limit.
 */
export const isOpenToLinks = (route: PanelRoute, { query }: ResponseTarget['visit']): boolean =>
  'show' in route &&
  (route.openToLinks === true || (route.path.includes(':') && route.section !== 'audit' && !query.em))

/** Sends a page with a link to the requested page, so that the next request comes from the panel itself. */
export function sendStep(request: Request, response: Response, place: ResponseTarget): void {
  const { path } = place.visit
  const search = request.originalUrl.split('?').slice(1).join('?')
  const body = (
    <>
      <p>Você veio de outro site. Para ver esta página, continue.</p>
      <div class="actions">
        <a class="button main" href={`${PANEL}${path === '/' ? '' : path}${search === '' ? '' : `?${search}`}`}>
          Continuar
        </a>
      </div>
    </>
  )
  sendPanelPage(response, { title: 'Continuar no Tillbook', body }, place)
}

/** For files with their own handler. */
export const stepFirst: RequestHandler = (request, response, next) => {
  if (isCrossSite(request)) sendStep(request, response, response.locals.place as ResponseTarget)
  else next()
}
