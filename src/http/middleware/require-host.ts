import type { RequestHandler } from 'express'
import { Problem } from '../problems.ts'

/** Refuses a request without a Host, or with several, which may have come past a proxy as another one (RFC 9112, 3.2). */
export const requireHost: RequestHandler = ({ rawHeaders, httpVersion }, _response, next) => {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  if (hosts === 1 || (hosts === 0 && httpVersion === '1.0')) next()
  else next(new Problem('malformed_request'))
}
