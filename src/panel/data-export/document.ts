import { createHash } from 'node:crypto'
import { formatDateTimeSeconds } from '#domain/brazilian-format.ts'
import { escapeHtml } from '#lib/html.ts'
import type { ExportedList, ExportHead, ExportPart, ExportTail, ListName, TouchingEvent } from '#privacy/data-export.ts'
import { eventName, ORIGINS, subjectName } from '../words/events.ts'
import { membersHtml } from './values.ts'

/** Turns parts, in order, into the text of one document. */
export type ExportWriter = (piece: ExportPart) => string

/**
 * One JSON document: `{subject, company, exported_at, record, events, sales?, receivables?, payables?, orders?,
 * store_credit?, webhooks, access}`; list entries are `{record, events}` (PRIV-50).
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
