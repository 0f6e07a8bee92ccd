import type { RequestHandler, Response } from 'express'

/** Notes which route a request has found, for whoever counts: its pattern, never the path that was called. */
export function routed(pattern: string): RequestHandler {
  return (_request, response, next) => {
    response.locals.route = pattern
    next()
  }
}

/** The pattern, if a route was found. */
export const routeOf = (response: Response): string | undefined => response.locals.route as string | undefined
