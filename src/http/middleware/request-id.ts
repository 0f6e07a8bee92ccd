import type { RequestHandler } from 'express'

/**
 * Gives every request an id, which every answer carries and every event keeps. A caller's own id is not taken over:
 * catch-up tells the events of one request from the next one's by it.
 */
export function requestId(newId: () => string): RequestHandler {
  return (_request, response, next) => {
    const id = newId()
    response.locals.requestId = id
    response.setHeader('X-Request-Id', id)
    next()
  }
}
