import type { Request, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { repeat } from '#background/repeat.ts'
import type { PageContext } from './route.ts'
import { sessionCookie } from './session.ts'

/** Time between checks: what is under way ends within 1.5 s of the right to it (ROLE-725). */
const CHECK_MS = 1_000

const rightsOf = ({ permissions, seesPersonalData }: PanelSession): string =>
  JSON.stringify([permissions, seesPersonalData])

/** Whether the session is live and has the rights with which it began. While the database is away, it counts as live. */
async function hasSameRights({ context, session }: PageContext, request: Request): Promise<boolean> {
  try {
    const now = await context.access.sessions.find(sessionCookie(request) ?? '')
    return now !== null && rightsOf(now) === rightsOf(session)
  } catch {
    return true
  }
}

/** The browser asks again, with the rights that the user has now. */
const askAgain = (request: Request, response: Response): void => response.redirect(303, request.originalUrl)

/** Sends a download while the user may have it: its signal aborts with the right. It may have waited for its turn. */
export async function whileAllowed(
  visit: PageContext,
  request: Request,
  response: Response,
  send: (ended: AbortSignal) => Promise<void>,
): Promise<void> {
  if (!(await hasSameRights(visit, request))) return askAgain(request, response)
  const ended = new AbortController()
  const check = async () => {
    if (!(await hasSameRights(visit, request))) ended.abort()
  }
  const checks = repeat(check, CHECK_MS, () => {})
  try {
    await send(ended.signal)
  } finally {
    await checks.stop()
  }
}

/** Answers with a page whose work took long only if the user may still see it. `began`: from `performance.now()`. */
export async function ifStillAllowed(
  visit: PageContext,
  began: number,
  request: Request,
  response: Response,
  answer: () => void,
): Promise<void> {
  const isOld = performance.now() - began >= CHECK_MS
  if (isOld && !(await hasSameRights(visit, request))) askAgain(request, response)
  else answer()
}
