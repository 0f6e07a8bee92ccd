import type { Request, RequestHandler, Response } from 'express'
import { FORM_TYPE } from '#http/answers.ts'
import { formOf, link, routeAt } from './page-context.ts'
import { sendRedirect } from './panel-answer.tsx'
import { noteDone } from './panel-cookies.ts'
import { sendLogin } from './panel-login.tsx'
import type { PanelRoute } from './panel-route.ts'
import { encodePreservedInput } from './preserved-input.ts'

/**
 * Redirects to the login, and back to the page afterwards. The login page carries the submitted form; the server stores
 * nothing of it. `read` limits the form to the size that unauthenticated clients may send.
 */
export function createLoginRedirect(
  routes: readonly PanelRoute[],
  mostBytes: number,
  read: RequestHandler,
): RequestHandler {
  const find = routeAt(routes)
  return async (request, response, next) => {
    // htmx would insert the login into a part of the page: the whole page is redirected instead.
    if (request.get('hx-request') === 'true') {
      noteDone(response, 'entre')
      return void response
        .status(401)
        .setHeader('HX-Redirect', link('/entrar', { feito: 'entre' }))
        .end()
    }
    const route = request.method === 'POST' ? find('POST', request.path) : undefined
    const refills = route && 'refill' in route && route.refill !== undefined
    if (!refills || !isSmallForm(request, mostBytes)) return sendToLogin(request, response)
    try {
      if (request.body === undefined) await readForm(read, request, response)
      keepTyped(request, response)
    } catch (error) {
      next(error)
    }
  }

  function keepTyped(request: Request, response: Response): void {
    const typed = encodePreservedInput(request.path, formOf(request))
    const next = find('GET', request.path) ? request.originalUrl : ''
    if (typed === null) sendToLogin(request, response)
    else sendLogin(response, { email: '', target: { next, typed, company: '' }, flash: 'entre-e-continue' }, 401)
  }
}

/** Resolves when the form has been read. An exception in a callback of the parser would end the process. */
const readForm = (read: RequestHandler, request: Request, response: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    void read(request, response, (error?: unknown) => (error === undefined ? resolve() : reject(error)))
  })

const isSmallForm = (request: Request, mostBytes: number): boolean =>
  Boolean(request.is(FORM_TYPE)) &&
  request.headers['content-encoding'] === undefined &&
  Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= mostBytes

function sendToLogin(request: Request, response: Response): void {
  const para = request.method === 'GET' && request.url !== '/' ? request.originalUrl : undefined
  sendRedirect(response, link('/entrar', { para }), 'entre')
}
