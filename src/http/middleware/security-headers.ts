import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { RequestHandler } from 'express'
import helmet from 'helmet'

/** Security headers of every answer, even without a matching route (HTTP-32); pages may override some. */
export const SECURITY_HEADERS: readonly (readonly [name: string, value: string])[] = headersOfHelmet()

function headersOfHelmet(): [string, string][] {
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  helmet()(request, response, () => {})
  return response.getHeaderNames().map((name) => [name, String(response.getHeader(name))])
}

export const securityHeaders: RequestHandler = (_request, response, next) => {
  for (const [name, value] of SECURITY_HEADERS) response.setHeader(name, value)
  next()
}

/**
 * Answers contain personal and financial data (HTTP-18): shared caches must not store them; clients revalidate with the
 * ETag.
 */
export const forbidCaching: RequestHandler = (_request, response, next) => {
  response.setHeader('Cache-Control', 'no-store')
  response.setHeader('Vary', 'Accept-Encoding')
  next()
}
