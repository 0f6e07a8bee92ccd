import { createHash } from 'node:crypto'
import { pipeline } from 'node:stream/promises'
import type { Request, RequestHandler, Response } from 'express'
import type { PanelSession } from '#access/sessions.ts'
import { formatDateTimeSeconds } from '#domain/person-values.ts'
import { may, mayUnmasked } from '#domain/rights.ts'
import { escapeHtml } from '#domain/text.ts'
import { JSON_TYPE } from '#http/answers.ts'
import { Problem } from '#http/problems.ts'
import { recordDownload } from '#integrity/audit-pack.ts'
import { createKeyedSemaphore } from '#lib/fair-sharing.ts'
import {
  type ExportedList,
  type ExportedPerson,
  type ExportHead,
  type ExportPart,
  type ExportTail,
  exportPersonData,
  type ListName,
  type TouchingEvent,
} from '#privacy/data-export.ts'
import type { ResponseTarget } from './panel-answer.tsx'
import { whileAllowed } from './panel-live.tsx'
import type { PageAction, PageContext, PanelServices } from './panel-route.ts'
import { eventName, fieldName, ORIGINS, subjectName } from './words/event-words.ts'
import { textOfBoolean, textOfValue } from './words/record-words.ts'

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

/** A value as HTML; objects become tables, arrays become lists. `name` is the member that holds the value. */
function valueHtml(name: string, value: unknown, timezone: string): string {
  if (value === null || value === undefined || value === '') return '<span class="none">—</span>'
  if (typeof value === 'boolean') return textOfBoolean(name, value)
  if (typeof value === 'string') return escapeHtml(textOfValue(name, value, timezone))
  if (Array.isArray(value)) {
    if (value.length === 0) return '<span class="none">—</span>'
    const isPlain = value.every((each) => !isObject(each))
    if (isPlain) return value.map((each) => valueHtml(name, each, timezone)).join(', ')
    return `<ol>${value.map((each) => `<li>${valueHtml(name, each, timezone)}</li>`).join('')}</ol>`
  }
  return isObject(value) ? membersHtml(value, timezone) : escapeHtml(String(value))
}

/** All members of an object, one per row. */
function membersHtml(record: object, timezone: string): string {
  const rows = Object.entries(record).map(
    ([name, value]) =>
      `<tr><th scope="row">${escapeHtml(fieldName(name))}</th><td>${valueHtml(name, value, timezone)}</td></tr>`,
  )
  return rows.length === 0 ? '<span class="none">—</span>' : `<table>${rows.join('')}</table>`
}

/** Turns parts, in order, into the text of one document. */
export type ExportWriter = (piece: ExportPart) => string

/**
 * One JSON document: `{subject, company, exported_at, record, events, sales?, receivables?, payables?, orders?,
 * store_credit?, webhooks, access}`; list entries are `{record, events}`.
 */
export function jsonWriter(): ExportWriter {
  let list: ListName | null = null
  let isFirst = true
  const endOfList = () => {
    const end = list === null ? '' : '\n]'
    list = null
    return end
  }
  return (piece) => {
    switch (piece.piece) {
      case 'head':
        return JSON.stringify(piece.head).slice(0, -1)
      case 'person':
        return `,\n"record":${JSON.stringify(piece.held.record)},\n"events":${JSON.stringify(piece.held.events)}`
      case 'list': {
        const end = endOfList()
        list = piece.list
        isFirst = true
        return `${end},\n"${piece.list}":[`
      }
      case 'entry': {
        const separator = isFirst ? '' : ','
        isFirst = false
        return `${separator}\n${JSON.stringify(piece.held)}`
      }
      case 'tail':
        return `${endOfList()},\n"webhooks":${JSON.stringify(piece.tail.webhooks)},\n"access":${JSON.stringify(piece.tail.access)}}\n`
    }
  }
}

const LIST_TITLES: Readonly<Record<ListName, string>> = {
  sales: 'Vendas',
  receivables: 'Contas a receber',
  payables: 'Contas a pagar',
  orders: 'Pedidos da loja online',
  store_credit: 'Crédito de troca',
}

const STYLE = `
body { font: 11pt/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; color: #1a1a1a; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.2rem; border-bottom: 1px solid #999; margin-top: 2rem } h3 { font-size: 1rem; margin: 1.2rem 0 .3rem }
table { border-collapse: collapse; width: 100% } th, td { border: 1px solid #ccc; padding: .2rem .4rem; text-align: left; vertical-align: top }
th { font-weight: 600; background: #f4f4f4 } table th[scope=row] { width: 11rem } ol { margin: 0; padding-left: 1.4rem } .none { color: #595959 }
@media print { body { margin: 0; max-width: none; font-size: 9pt } h2, h3 { break-after: avoid } tr { break-inside: avoid } }
`
const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`

/** One printable page in Portuguese that loads nothing and runs no scripts. */
export function htmlWriter(): ExportWriter {
  let timezone = 'UTC'
  return (piece) => {
    switch (piece.piece) {
      case 'head':
        timezone = piece.head.company.timezone
        return beginning(piece.head)
      case 'person':
        return `<h2>Cadastro</h2>\n${heldHtml(piece.held, timezone)}`
      case 'list':
        return `<h2>${LIST_TITLES[piece.list]}</h2>\n`
      case 'entry':
        return `<h3>${escapeHtml(entryTitle(piece.held))}</h3>\n${heldHtml(piece.held, timezone)}`
      case 'tail':
        return ending(piece.tail, timezone)
    }
  }
}

function beginning({ subject, company, exported_at }: ExportHead): string {
  const title = `Dados pessoais: ${subjectName(subject)}`
  return `<!doctype html>
<html lang="pt-BR">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${escapeHtml(title)}</h1>
<p>Tudo o que ${escapeHtml(company.name)} guarda sobre esta pessoa neste sistema em ${escapeHtml(formatDateTimeSeconds(exported_at, company.timezone))}, com cada evento sobre estes dados: quando, o que mudou, quem fez e de onde. Dados já excluídos aparecem como —.</p>
`
}

const entryTitle = ({ events: [first], record }: ExportedList): string =>
  first ? subjectName(first.subject) : String((record as { id?: number }).id)

function heldHtml({ record, events }: ExportedList, timezone: string): string {
  const rows = events.map((event) => eventRow(event, timezone)).join('\n')
  return `${membersHtml(record, timezone)}
<h3>Eventos</h3>
<table><thead><tr><th scope="col">Quando</th><th scope="col">Atividade</th><th scope="col">Quem</th><th scope="col">Origem</th><th scope="col">Dados</th></tr></thead>
<tbody>
${rows}
</tbody></table>
`
}

function eventRow({ recorded_at, type, actor, actor_name, origin, data }: TouchingEvent, timezone: string): string {
  const who = actor === null ? 'O sistema' : (actor_name ?? actor)
  const cells = [formatDateTimeSeconds(recorded_at, timezone), eventName(type), who, ORIGINS[origin]].map(
    (text) => `<td>${escapeHtml(text)}</td>`,
  )
  return `<tr>${cells.join('')}<td>${membersHtml(data, timezone)}</td></tr>`
}

function ending({ webhooks, access }: ExportTail, timezone: string): string {
  const sent = `<h2>Avisos a outros sistemas</h2>
<p>${webhooks.messages} mensagens sobre estes registros nos últimos 30 dias, em ${webhooks.deliveries} entregas a ${webhooks.addresses} endereços.</p>
`
  if (!access) return `${sent}</body>\n</html>\n`
  const times = access.logins_seen_at.map((seen) => escapeHtml(formatDateTimeSeconds(seen, timezone))).join(', ')
  return `${sent}<h2>Acessos</h2>
<p>Sessões abertas no painel:</p>
<ol>${access.sessions.map((session) => `<li>${membersHtml(session, timezone)}</li>`).join('')}</ol>
<p>Acessos abertos de caixas:</p>
<ol>${access.till_tokens.map((token) => `<li>${membersHtml(token, timezone)}</li>`).join('')}</ol>
<p>Verificação em duas etapas:</p>
<ol>${access.second_factors.map((factor) => `<li>${membersHtml(factor, timezone)}</li>`).join('')}</ol>
<p>Últimos acessos, por local ou aparelho: ${times === '' ? '—' : times}</p>
</body>
</html>
`
}

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
const canExportPerson = ({
  permissions,
  seesPersonalData,
}: Pick<PanelSession, 'permissions' | 'seesPersonalData'>): boolean =>
  may(permissions, 'see_company') && mayUnmasked(permissions) && seesPersonalData

/** Sends the data export of a person as a file to permitted users, and records the download. */
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
        kind: 'person_file',
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

/**
 * Links to a person's data export, for owners and for auditors with access to personal data: one to read, one for other
 * systems. An erased person has nothing to export.
 */
export const dataExportActions = (
  kind: ExportedPerson['kind'],
  { id, forgotten_at }: { readonly id: number; readonly forgotten_at: string | null },
  { session, readModel }: PageContext,
): PageAction[] =>
  canExportPerson(session) && !readModel.moment && forgotten_at === null
    ? [
        { label: 'Baixar dados (página)', to: dataExportPath({ kind, id }, 'html') },
        { label: 'Baixar dados (JSON)', to: dataExportPath({ kind, id }, 'json') },
      ]
    : []
