import type { Request, RequestHandler, Response } from 'express'
import { type ResponseTarget, sendPanelPage } from './answer.tsx'
import { PANEL } from './link.ts'
import type { PanelRoute } from './route.ts'

/** Whether another site sent the browser here. A client without the header is no browser, or an old one. */
export const isCrossSite = (request: Request): boolean => request.get('sec-fetch-site') === 'cross-site'

/**
 * Whether a link on another site may open a page directly: only the present state of one record. Lists, totals, files,
 * the past and the audit cost more, and another site could request them without limit (PANEL-305).
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
