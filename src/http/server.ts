import { createServer, IncomingMessage, type Server, ServerResponse } from 'node:http'
import type { Express } from 'express'

/**
 * The server of an app. Express gives each request and answer its methods by changing their prototypes, after which V8
 * looks up every property the slow way (expressjs/express#5998). Here they are born with the prototypes that Express would
 * give them, so that it finds nothing to change.
 */
export function serverOf(app: Express): Server {
  class AppRequest extends IncomingMessage {}
  class AppResponse extends ServerResponse<AppRequest> {}
  app.request = Object.setPrototypeOf(AppRequest.prototype, app.request)
  app.response = Object.setPrototypeOf(AppResponse.prototype, app.response)
  return createServer({ IncomingMessage: AppRequest, ServerResponse: AppResponse }, app)
}
