import { pipeline } from 'node:stream/promises'
import type { RequestHandler, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { may } from '#domain/permissions.ts'
import type { LogError } from '#http/middleware/problem-handler.ts'
import { Problem } from '#http/problems.ts'
import type { LedgerReads } from '#integrity/audit/as-of.ts'
import { recordDownload } from '#integrity/audit/downloads.ts'
import { auditPack } from '#integrity/audit/pack.ts'
import type { PackWanted } from '#integrity/audit/pack-guide.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'
import type { ResponseTarget } from '../answer.tsx'
import { whileAllowed } from '../rights-under-way.ts'
import type { PanelServices } from '../route.ts'
import { beginPack } from './begin.ts'

/** Path of the download, below the panel; `?dados=abertos` includes personal data in clear. */
export const PACK_DOWNLOAD = '/auditoria/pacote/baixar'

/** Concurrent packs: one per company and few in total, because each reads until the download ends. */
const TURNS = { running: 2, runningOfKey: 1, waiting: 16 }
/** Time limit of a download: 1,000,000 events over a slow line. */
const LONGEST_SENDING_MS = 2 * 3_600_000

/** Wait budget for a replica to reach the revision of the pack. */
const PATIENCE_MS = 1_000

/** Whether the session may download personal data in clear. */
export const mayOpenPack = ({
  permissions,
  seesPersonalData,
}: Pick<PanelSession, 'permissions' | 'seesPersonalData'>): boolean =>
  may(permissions, 'see_company') && seesPersonalData

/** Sends the audit pack to users who may check the books (AUDIT-20), and records the download (AUDIT-26). */
export function packDownload(context: PanelServices): RequestHandler {
  const semaphore = createKeyedSemaphore(TURNS)
  return async (request, response) => {
    const { visit } = response.locals.place as ResponseTarget
    const { session } = visit
    const isOpened = request.query.dados === 'abertos'
    const pool = context.reads.poolOf(session.companyId)
    if (!may(session.permissions, 'see_audit') || (isOpened && !mayOpenPack(session))) throw new Problem('owners_only')
    response.setHeader('Content-Type', 'application/zip')
    response.setHeader('Content-Disposition', `attachment; filename="auditoria-${session.companyId}.zip"`)
    if (request.method === 'HEAD') return void response.end()
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const take = async (ended: AbortSignal) => {
      if (response.closed) return
      const now = new Date().toISOString()
      const wanted = await beginPack({ pool, proof: context.proofs.proof }, session.companyId, {
        isOpened,
        now,
      })
      const what = isOpened ? 'opened_audit_pack' : 'audit_pack'
      const asked = { companyId: session.companyId, user_id: session.userId, what, subject: null } as const
      const { store } = context.reads.readsOf(session.companyId, {
        revision: wanted.head.revision,
        wait_budget_ms: PATIENCE_MS,
      })
      await recordDownload(context.reads.pool, asked, (tell) =>
        send({ ...context.reads, store }, wanted, context.log, response, { tell, ended }),
      )
    }
    await semaphore.run(session.companyId, () => whileAllowed(visit, request, response, take), gone.signal)
  }
}

/** Closes the connection on a time-out or failure, or when `ended` aborts: a truncated ZIP cannot be opened. */
async function send(
  reads: LedgerReads,
  wanted: PackWanted,
  log: LogError,
  response: Response,
  { tell, ended }: { readonly tell: (done: number, total: number) => void; readonly ended: AbortSignal },
): Promise<boolean> {
  const signal = AbortSignal.any([AbortSignal.timeout(LONGEST_SENDING_MS), ended])
  try {
    await pipeline(auditPack(reads, wanted, tell, signal), response, { signal })
    return true
  } catch (error) {
    if (!response.closed) log('panel: audit pack download failed', error, response.locals.requestId as string)
    response.destroy()
    return false
  }
}
