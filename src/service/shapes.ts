import type { Response } from 'express'
import { answerProblem } from '#http/middleware/failures.ts'
import type { Problem } from '#http/problems.ts'
import { answerFailure as answerVisitor } from '#panel/answer.tsx'
import { PANEL } from '#panel/link.ts'
import { answerProblem as answerTill } from '#sync/answer.ts'

/** Below /api, but not of API v1: what is told there is told to tills. A request line may hold a whole URL. */
const OF_TILLS = /^(?:https?:\/\/[^/]*)?\/api(?!\/v1(?![^/?]))(?![^/?])/i

const OF_VISITORS = new RegExp(`^${PANEL}(?![^/?])`)

/** Answers what no interface has got to see, in the shape of the one that was called. */
export function answerInShape(response: Response, problem: Problem): void {
  const { originalUrl } = response.req
  if (OF_TILLS.test(originalUrl)) answerTill(response, problem)
  else if (OF_VISITORS.test(originalUrl)) answerVisitor(response, problem)
  else answerProblem(response, problem)
}
