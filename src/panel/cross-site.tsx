import type { Request, RequestHandler, Response } from 'express'
import { type ResponseTarget, sendPanelPage } from './answer.tsx'
import { PANEL } from './link.ts'
import type { PanelRoute } from './route.ts'

/** Whether another site has led the browser here. A caller that does not say so is no browser, or an old one. */
export const isCrossSite = (request: Request): boolean => request.get('sec-fetch-site') === 'cross-site'

/**
 * Whether a link of another site leads straight to a page: to that of one record, as it is now. Lists, sums, files, the past
 * and the audit cost more, and another site could ask for them without end (PANEL-305).
 */
export const isOpenToLinks = (route: PanelRoute, { query }: ResponseTarget['visit']): boolean =>
  'show' in route && route.path.includes(':') && route.section !== 'audit' && !query.em

/** In the place of a page: a link that leads there from the panel itself. */
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

/** For files with a handler of their own. */
export const stepFirst: RequestHandler = (request, response, next) => {
  if (isCrossSite(request)) sendStep(request, response, response.locals.place as ResponseTarget)
  else next()
}
