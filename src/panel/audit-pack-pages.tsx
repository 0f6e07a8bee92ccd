import { pipeline } from 'node:stream/promises'
import type { RequestHandler, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { formatCount, formatDateTimeSeconds } from '#domain/person-values.ts'
import { may, mayUnmasked, type RolePermissions } from '#domain/rights.ts'
import { pathId } from '#http/paths.ts'
import { Problem } from '#http/problems.ts'
import type { LedgerReads } from '#integrity/as-of.ts'
import {
  auditPack,
  type Download,
  type DownloadKind,
  listDownloads,
  type PackWanted,
  type PackWords,
  packEvidence,
  recordDownload,
} from '#integrity/audit-pack.ts'
import type { ProofServices } from '#integrity/sale-receipts.ts'
import { loadLedgerHead } from '#integrity/verify.ts'
import type { LogError } from '#lib/errors.ts'
import { createKeyedSemaphore } from '#lib/fair-sharing.ts'
import type { Database } from '#postgres/database.ts'
import { getNameAndZone } from '#queries/company-queries.ts'
import { fullReader } from '#queries/reader.ts'
import { link } from './page-context.ts'
import type { ResponseTarget } from './panel-answer.tsx'
import { whileAllowed } from './panel-live.tsx'
import type { PageContext, PanelPage, PanelRoute, PanelServices } from './panel-route.ts'
import { namesOfActors } from './record-history.tsx'
import { type Column, ListTable } from './ui/list-table.tsx'
import { Card, StateBadge, type StateMark } from './ui/page-parts.tsx'
import { Pager } from './ui/panel-list.tsx'
import { eventName, ORIGINS, subjectName, subjectPath } from './words/event-words.ts'

const wordsAt = (timezone: string): PackWords => ({
  eventName,
  subjectName,
  originName: (origin) => ORIGINS[origin],
  timeOf: (recorded_at) => formatDateTimeSeconds(recorded_at, timezone),
})

interface PackSource {
  readonly pool: Database
  readonly proof: Pick<ProofServices, 'checkpointOf'>
}

interface PackRequest {
  readonly isOpened: boolean
  /** UTC. */
  readonly now: string
}

/** Starts an audit pack up to the company's last event, with a checkpoint of it if one can be made. */
export async function beginPack(
  { pool, proof }: PackSource,
  companyId: number,
  { isOpened, now }: PackRequest,
): Promise<PackWanted> {
  const { name, timezone } = await getNameAndZone(fullReader(pool, companyId))
  // If no checkpoint can be made, for example because the ledger was altered, the pack uses the last one.
  await proof.checkpointOf(companyId, (await loadLedgerHead(pool, companyId)).revision + 1).catch(() => null)
  const { covered, evidenceOf } = await packEvidence(pool, companyId)
  const head = await loadLedgerHead(pool, companyId)
  const evidence = evidenceOf(head.revision + 1)
  return { companyId, companyName: name, head, covered, isOpened, evidence, words: wordsAt(timezone), now }
}

/** Path of the download, below the panel; `?dados=abertos` includes personal data in clear. */
export const PACK_DOWNLOAD = '/auditoria/pacote/baixar'

/** Concurrent packs: one per company and few in total, because each reads until the download ends. */
const TURNS = { running: 2, runningOfKey: 1, waiting: 16 }
/** Time limit of a download: 1,000,000 events over a slow line. */
const LONGEST_SENDING_MS = 2 * 3_600_000

/** Wait budget for a replica to reach the revision of the pack. */
const PATIENCE_MS = 1_000

/** Whether the role may download a pack: what it does not see cannot be masked in a chain of hashes. */
const mayTakePack = (permissions: RolePermissions): boolean => may(permissions, 'see_audit') && mayUnmasked(permissions)

/** Whether the session may download personal data in clear. */
const mayOpenPack = ({
  permissions,
  seesPersonalData,
}: Pick<PanelSession, 'permissions' | 'seesPersonalData'>): boolean =>
  mayTakePack(permissions) && may(permissions, 'see_company') && seesPersonalData

/** Sends the audit pack to users who may check the books, and records the download. */
export function packDownload(context: PanelServices): RequestHandler {
  const semaphore = createKeyedSemaphore(TURNS)
  return async (request, response) => {
    const { visit } = response.locals.place as ResponseTarget
    const { session } = visit
    const isOpened = request.query.dados === 'abertos'
    const pool = context.reads.poolOf(session.companyId)
    if (!mayTakePack(session.permissions) || (isOpened && !mayOpenPack(session))) throw new Problem('owners_only')
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
      const kind = isOpened ? 'opened_audit_pack' : 'audit_pack'
      const asked = { companyId: session.companyId, user_id: session.userId, kind, subject: null } as const
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
    if (!response.closed) log('panel: audit pack download failed', error, { request_id: response.locals.requestId })
    response.destroy()
    return false
  }
}

const PATH = '/auditoria/pacote'
const SHOWN = 30
/** Id of the live part of the page. */
const LIST = 'downloads'

const KINDS: Readonly<Record<DownloadKind, string>> = {
  audit_pack: 'Pacote de auditoria',
  opened_audit_pack: 'Pacote de auditoria com dados pessoais',
  person_file: 'Dados de uma pessoa',
}

const STATES: Readonly<Record<Download['state'], StateMark>> = {
  running: ['warn', 'Em andamento'],
  whole: ['good', 'Entregue'],
  broken: ['bad', 'Interrompido'],
}

function progressOf({ kind, done, total, state }: Download): string {
  if (kind === 'person_file' || total === 0) return '—'
  const percent = Math.floor((done / total) * 100)
  return state === 'running' ? `${percent}%` : `${percent}% de ${formatCount(total)} linhas`
}

/** The audit pack, and the log of downloads. */
async function showPack(visit: PageContext): Promise<PanelPage> {
  const { session, query } = visit
  const before = pathId(query.cursor ?? '')
  const found = await listDownloads(visit.primary, { before, limit: SHOWN + 1 })
  const mayOpen = mayOpenPack(session)
  const body = (
    <>
      <Card title="Conteúdo do pacote">
        <p>
          Um ZIP com tudo para auditar fora do sistema: os eventos como foram gravados, as assinaturas, o verificador e
          um índice em palavras. O LEIA-ME.txt explica como verificar. Os dados pessoais vão lacrados.
        </p>
        <p class="hint">
          {!mayTakePack(session.permissions) &&
            'Só baixa o pacote quem vê todas as vendas, custos e contas a pagar, e exporta arquivos. '}
          O pacote pode levar alguns minutos; o andamento aparece abaixo. Não feche a janela durante o download.
        </p>
      </Card>
      {may(session.permissions, 'see_company') && <Card title="Quem baixou">{await Downloads({ visit, found })}</Card>}
    </>
  )
  return {
    title: 'Pacote de auditoria',
    parent: { label: 'Auditoria', to: '/auditoria' },
    main: mayTakePack(session.permissions) && { label: 'Baixar pacote', to: PACK_DOWNLOAD },
    more: [
      mayOpen && {
        label: 'Baixar com dados pessoais abertos',
        to: PACK_DOWNLOAD,
        parameters: { dados: 'abertos' },
      },
    ],
    body,
  }
}

/** With JavaScript, refreshed every two seconds while a download runs. */
async function Downloads({ visit, found }: { readonly visit: PageContext; readonly found: readonly Download[] }) {
  const rows = found.slice(0, SHOWN)
  const nameOf = await namesOfActors(
    visit.readModel,
    rows.map(({ user_id }) => ({ actor: `user/${user_id}` })),
  )
  const isRunning = rows.some(({ state }) => state === 'running')
  const columns: Column<Download>[] = [
    { head: 'Quando', cell: ({ begun_at }) => formatDateTimeSeconds(begun_at, visit.readModel.timezone) },
    { head: 'Quem', cell: ({ user_id }) => nameOf(`user/${user_id}`) },
    { head: 'Arquivo', cell: (one) => <What download={one} /> },
    { head: 'Situação', cell: ({ state }) => <StateBadge state={STATES[state]} /> },
    { head: 'Andamento', cell: progressOf, isNumber: true },
  ]
  const next = found.length > SHOWN ? String(rows.at(-1)?.id) : null
  const follow = {
    'hx-get': link(PATH),
    'hx-trigger': 'every 2s',
    'hx-select': `#${LIST}`,
    'hx-target': `#${LIST}`,
    'hx-swap': 'outerHTML',
  }
  return (
    <div id={LIST} {...(isRunning && follow)}>
      <ListTable isList caption="Downloads" rows={rows} columns={columns} empty="Nenhum download ainda." />
      <Pager path={PATH} query={visit.query} next={next} />
    </div>
  )
}

const What = ({ download: { kind, subject } }: { readonly download: Download }) =>
  subject === null ? (
    <span>{KINDS[kind]}</span>
  ) : (
    <>
      {KINDS[kind]}: <a href={link(subjectPath(subject))}>{subjectName(subject)}</a>
    </>
  )

export const packPage: PanelRoute = { path: PATH, section: 'audit', access: 'see_audit', show: showPack }
