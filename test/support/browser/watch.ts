import type { BrowserContext, ConsoleMessage, Request, Response } from 'playwright-core'

/** The test itself judges refused forms and missing pages; a missing style sheet is always a fault. */
const MAY_BE_REFUSED = new Set(['document', 'fetch', 'xhr', 'eventsource'])

/** Browser and htmx log the status of a response, which is checked separately. */
const STATUS_IN_CONSOLE =
  /^(Failed to load resource: the server responded with a status of|Response Status Error Code) /

/**
 * Records forbidden actions of pages while the context is open: requests to other hosts, violations of the
 * Content-Security-Policy, exceptions, console errors, and missing resources. Returns the growing list.
 */
export function watch(context: BrowserContext, origin: string): string[] {
  const problems: string[] = []
  const foreign = (url: string) => /^(https?|wss?):/.test(url) && new URL(url).host !== new URL(origin).host
  const note = (url: string, what: string) => problems.push(`${url.replace(origin, '')}: ${what}`)

  context.on('request', (request: Request) => {
    if (foreign(request.url())) note(pageOf(request), `asks another host, ${request.method()} ${request.url()}`)
  })
  context.on('response', (response: Response) => {
    const type = response.request().resourceType()
    const status = response.status()
    if (status >= 500 || (status >= 400 && !MAY_BE_REFUSED.has(type))) note(response.url(), `${status} (${type})`)
  })
  // Violations of the Content-Security-Policy are reported here too.
  context.on('console', (message: ConsoleMessage) => {
    if (message.type() !== 'error' || STATUS_IN_CONSOLE.test(message.text())) return
    note(message.page()?.url() ?? '', `console: ${message.text()}`)
  })
  context.on('weberror', (failure) => note(failure.page()?.url() ?? '', `uncaught ${failure.error()}`))
  context.on('page', (page) => {
    page.on('websocket', (socket) => foreign(socket.url()) && note(page.url(), `asks another host, ${socket.url()}`))
  })
  return problems
}

/** Page of a request; a navigation request has no frame yet. */
function pageOf(request: Request): string {
  return request.isNavigationRequest() ? request.url() : request.frame().url()
}
