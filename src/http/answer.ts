import type { Response } from 'express'
import { type Problem, problemBody } from './problems.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Sends JSON text unchanged. Lists and records come as text from Postgres or the working set. */
export function sendJson(response: Response, status: number, body: string): void {
  if (body === '') {
    response.statusCode = status
    response.end()
  } else {
    sendBytes(response, status, Buffer.from(body))
  }
}

/** Sends JSON that is already encoded. */
export function sendBytes(response: Response, status: number, bytes: Buffer, type = JSON_TYPE): void {
  response.statusCode = status
  response.setHeader('Content-Type', type)
  response.setHeader('Content-Length', bytes.length)
  response.end(response.req.method === 'HEAD' ? undefined : bytes)
}

/** Sends an error in the contract's shape and keeps it for the request log. */
export function sendProblem(response: Response, problem: Problem, status: number): void {
  response.locals.problem = problem
  for (const [name, value] of Object.entries(problem.headers)) response.setHeader(name, value)
  sendJson(response, status, problemBody(problem, response.locals.requestId as string))
}
