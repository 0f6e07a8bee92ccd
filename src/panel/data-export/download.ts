import { pipeline } from 'node:stream/promises'
import type { Request, RequestHandler, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { may } from '#domain/permissions.ts'
import { JSON_TYPE } from '#http/answer.ts'
import { Problem } from '#http/problems.ts'
import { recordDownload } from '#integrity/audit/downloads.ts'
import { createKeyedSemaphore } from '#lib/keyed-semaphore.ts'
import { type ExportedPerson, type ExportPart, exportPersonData } from '#privacy/data-export.ts'
import type { ResponseTarget } from '../answer.tsx'
import { whileAllowed } from '../rights-under-way.ts'
import type { PanelServices } from '../route.ts'
import { type ExportWriter, htmlWriter, jsonWriter } from './document.ts'

/** Route path of a person's data export, below the panel. */
export const DATA_EXPORT_PATH = '/dados-pessoais/:kind/:id/:format'

/** Concurrent exports: one per company and few in total, because each reads until the download ends. */
const TURNS = { running: 2, runningOfKey: 1, waiting: 16 }
/** Time limit of a download. */
const LONGEST_SENDING_MS = 5 * 60_000

const FORMATS = {
  json: { type: JSON_TYPE, writer: jsonWriter },
  html: { type: 'text/html; charset=utf-8', writer: htmlWriter },
} as const

type Format = keyof typeof FORMATS

/** Address of a person's data export, below the panel. */
export const dataExportPath = ({ kind, id }: ExportedPerson, format: Format): string =>
  `/dados-pessoais/${kind}/${id}/${format}`

/** Owners, and auditors with access to personal data. */
export const canExportPerson = ({
  permissions,
  seesPersonalData,
}: Pick<PanelSession, 'permissions' | 'seesPersonalData'>): boolean =>
  may(permissions, 'see_company') && may(permissions, 'export') && seesPersonalData

/** Sends the data export of a person as a file to permitted users (PRIV-51), and records the download (AUDIT-26). */
export function dataExportDownload(context: PanelServices): RequestHandler {
  const semaphore = createKeyedSemaphore(TURNS)
  return async (request, response) => {
    const { visit } = response.locals.place as ResponseTarget
    const { session } = visit
    if (!canExportPerson(session)) throw new Problem('owners_only')
    const { kind, id, format } = parseExportPath(request)
    const person = { kind, id }
    const take = async (ended: AbortSignal) => {
      if (response.closed) return
      const source = { ...context.reads, pool: context.reads.poolOf(session.companyId) }
      const pieces = await exportPersonData(source, session.companyId, person, new Date().toISOString())
      if (!pieces) throw new Problem('not_found')
      response.setHeader('Content-Type', FORMATS[format].type)
      response.setHeader('Content-Disposition', `attachment; filename="${kind}-${id}.${format}"`)
      if (request.method === 'HEAD') return void response.end()
      const taken = {
        companyId: session.companyId,
        user_id: session.userId,
        what: 'person_file',
        subject: `${kind}/${id}`,
      } as const
      await recordDownload(context.reads.pool, taken, () => send(response, pieces, FORMATS[format].writer(), ended))
    }
    await semaphore.run(session.companyId, () => whileAllowed(visit, request, response, take))
  }
}

const KINDS: readonly string[] = ['customer', 'supplier', 'user', 'order'] satisfies ExportedPerson['kind'][]

/** @throws Problem if the path does not name a person or a format */
function parseExportPath({ params }: Request): ExportedPerson & { readonly format: Format } {
  const { kind = '', id = '', format = '' } = params as Readonly<Record<string, string>>
  if (!KINDS.includes(kind) || !/^[1-9]\d{0,15}$/.test(id) || !Object.hasOwn(FORMATS, format))
    throw new Problem('not_found')
  return { kind: kind as ExportedPerson['kind'], id: Number(id), format: format as Format }
}

/** Closes the connection on a time-out or failure, or when `ended` aborts: the truncated file lacks its end. */
async function send(
  response: Response,
  pieces: AsyncIterable<ExportPart>,
  write: ExportWriter,
  ended: AbortSignal,
): Promise<boolean> {
  async function* texts() {
    for await (const piece of pieces) yield write(piece)
  }
  const signal = AbortSignal.any([AbortSignal.timeout(LONGEST_SENDING_MS), ended])
  try {
    await pipeline(texts(), response, { signal })
    return true
  } catch {
    response.destroy()
    return false
  }
}
