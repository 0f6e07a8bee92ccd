import { formatCount, formatDateTimeSeconds } from '#domain/brazilian-format.ts'
import { may } from '#domain/permissions.ts'
import { pathId } from '#http/paths.ts'
import { type Download, type DownloadKind, listDownloads } from '#integrity/audit/downloads.ts'
import { mayOpenPack, PACK_DOWNLOAD } from '../../audit-pack/download.ts'
import { link } from '../../link.ts'
import type { PageContext, PanelPage, PanelRoute } from '../../route.ts'
import { namesOfActors } from '../../ui/history.tsx'
import { type Column, ListTable } from '../../ui/list-table.tsx'
import { Pager } from '../../ui/pager.tsx'
import { Card, StateBadge, type StateMark } from '../../ui/parts.tsx'
import { subjectName, subjectPath } from '../../words/events.ts'

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

function progressOf({ what, done, total, state }: Download): string {
  if (what === 'person_file' || total === 0) return '—'
  const percent = Math.floor((done / total) * 100)
  return state === 'running' ? `${percent}%` : `${percent}% de ${formatCount(total)} linhas`
}

/** The audit pack, and the log of downloads. */
async function showPack(visit: PageContext): Promise<PanelPage> {
  const { context, session, query } = visit
  const before = pathId(query.cursor ?? '')
  const found = await listDownloads(context.reads.pool, session.companyId, { before, limit: SHOWN + 1 })
  const mayOpen = mayOpenPack(session)
  const body = (
    <>
      <Card title="Conteúdo do pacote">
        <p>
          Um ZIP com tudo para auditar fora do sistema: os eventos como foram gravados, as assinaturas, o verificador e
          um índice em palavras. O LEIA-ME.txt explica como verificar. Os dados pessoais vão lacrados.
        </p>
        <p class="hint">
          O pacote pode levar alguns minutos; o andamento aparece abaixo. Não feche a janela durante o download.
        </p>
      </Card>
      {may(session.permissions, 'see_company') && <Card title="Quem baixou">{await Downloads({ visit, found })}</Card>}
    </>
  )
  return {
    title: 'Pacote de auditoria',
    parent: { label: 'Auditoria', to: '/auditoria' },
    main: { label: 'Baixar pacote', to: PACK_DOWNLOAD },
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

const What = ({ download: { what, subject } }: { readonly download: Download }) =>
  subject === null ? (
    <span>{KINDS[what]}</span>
  ) : (
    <>
      {KINDS[what]}: <a href={link(subjectPath(subject))}>{subjectName(subject)}</a>
    </>
  )

export const packPage: PanelRoute = { path: PATH, section: 'audit', access: 'see_audit', show: showPack }
