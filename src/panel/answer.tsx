import type { Response } from 'express'
import { httpStatusOf, type Problem } from '#http/problems.ts'
import type { PendingCounts } from '#queries/pending-counts.ts'
import { forgetDone, noteDone } from './cookies.ts'
import { allowImages } from './guard.ts'
import { panelDocument, plainDocument } from './layout.tsx'
import { link } from './link.ts'
import type { PageContext, PanelPage, Section } from './route.ts'
import type { FlashCode } from './words/flashes.ts'
import { problemMessage, problemTitle } from './words/problems.ts'

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
  response
    .status(page.status ?? 200)
    .type('html')
    .send(panelDocument(page, { section, visit, waiting }))
}

export function sendPlainPage(response: Response, page: PanelPage): void {
  response
    .status(page.status ?? 200)
    .type('html')
    .send(plainDocument(page))
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
  const page = { title: problemTitle(problem), status: httpStatusOf(problem.code), body }
  const place = response.locals.place as ResponseTarget | undefined
  if (place) sendPanelPage(response, page, place)
  else sendPlainPage(response, page)
}
