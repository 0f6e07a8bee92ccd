import type { PanelSession } from '#access/sessions.ts'
import { formatDateTimeSeconds } from '#domain/brazilian-format.ts'
import { may } from '#domain/permissions.ts'
import { MASKED } from '#domain/personal-data.ts'
import { limitedText } from '#domain/text.ts'
import { isRefusal } from '#ledger/command.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { maskedData } from '#ledger/personal-fields.ts'
import { parseSubject } from '#ledger/projection.ts'
import { readModel as readModelOfNow } from '#projections/index.ts'
import { listActors, listHistory, listKnownActors, listSubjectNames } from '#queries/events.ts'
import { maskCosts } from '#queries/masked-members.ts'
import { type Change, changesOfEach } from '../changes.ts'
import type { Option } from '../forms/kinds.ts'
import { link } from '../link.ts'
import type { PageContext, PageReadModel } from '../route.ts'
import { ORIGINS, subjectName } from '../words/events.ts'
import { sentenceOf } from '../words/sentences.ts'
import { ChangesInBrief } from './changes.tsx'
import { recordsOnPage } from './list.tsx'
import { ListTable } from './list-table.tsx'
import { Card } from './parts.tsx'

/** Names of the actors of events: API keys or users. Null is the service itself. */
export async function namesOfActors(
  { reader }: PageReadModel,
  events: readonly Pick<Envelope, 'actor'>[],
): Promise<(actor: string | null) => string> {
  const actors = [...new Set(events.flatMap(({ actor }) => actor ?? []))]
  const names = actors.length === 0 ? new Map<string, string>() : await listActors(reader, actors)
  const nameOf = (actor: string) => {
    const name = names.get(actor)
    return name === undefined || name === MASKED ? subjectName(actor) : name
  }
  return (actor) => (actor === null ? 'O sistema' : nameOf(actor))
}

/** Limit of offered people and keys; others are found by their id in the address. */
const ACTORS = 200

/** Filter options for actors: people, keys and the service itself. */
export async function actorOptions(readModel: PageReadModel): Promise<Option[]> {
  const actors = await listKnownActors(readModel.reader, ACTORS)
  const nameOf = await namesOfActors(
    readModel,
    actors.map((actor) => ({ actor })),
  )
  return [...actors.map((actor) => ({ value: actor, label: nameOf(actor) })), { value: 'system', label: 'O sistema' }]
}

/** Actor as named in an address. */
export const ActorName = limitedText(40).regex(/^(system|(user|api_key)\/[1-9]\d{0,14})$/, 'não é ninguém')

/** Names of records: their own, or `Venda 9` if they have none. */
export async function namesOfSubjects(
  { reader }: PageReadModel,
  events: readonly Pick<Envelope, 'subject'>[],
): Promise<(subject: string) => string> {
  const names = await listSubjectNames(reader, [...new Set(events.map(({ subject }) => subject))])
  return (subject) => {
    const name = names.get(subject)
    return name === undefined || name === MASKED ? subjectName(subject) : name
  }
}

interface HistoryProps {
  readonly visit: PageContext
  /** As in events: `sale/9`. */
  readonly subject: string
  /** Records whose events belong to it, as the returns of a sale; of more than `OTHERS` the first ones. */
  readonly others?: readonly string[]
}

/** The timeline of the audit has all events. */
const SHOWN = 50
const OTHERS = 10

/** Events of a record, from the ledger. Hidden on pages of the past. */
export async function History({ visit, subject, others = [] }: HistoryProps) {
  const { readModel, context, session } = visit
  if (readModel.moment) return null
  const pageOf = (of: string) => listHistory({ ...context.reads, reader: readModel.reader }, of, { limit: SHOWN })
  const page = await pageOf(subject)
  if (!page || isRefusal(page)) return null
  const further = await Promise.all(others.slice(0, OTHERS).map(pageOf))
  const events = [page, ...further]
    .flatMap((each) => (each && !isRefusal(each) ? recordsOnPage<Envelope>(each) : []))
    .toSorted((one, other) => one.revision - other.revision)
    .slice(0, SHOWN)
    .map((event) => shownEvent(event, session))
  const changes = changesOfEach(events, readModel.timezone)
  const actors = await namesOfActors(readModel, events)
  return (
    <Card title="Histórico">
      <ListTable
        isList
        caption="Histórico"
        rows={events.map((event, at) => ({ ...event, changes: changes[at] ?? [] }))}
        empty="Nenhuma atividade ainda."
        columns={[
          { head: 'Quando', cell: (event) => formatDateTimeSeconds(event.recorded_at, readModel.timezone) },
          { head: 'Atividade', cell: (event) => <EventInBrief event={event} timezone={readModel.timezone} /> },
          { head: 'Origem', cell: (event) => ORIGINS[event.origin], isExtra: true },
          { head: 'Quem', cell: (event) => actors(event.actor), isExtra: true },
          {
            head: 'Evento nº',
            cell: ({ revision }) => <Revision revision={revision} visit={visit} />,
            isNumber: true,
          },
        ]}
      />
      {visit.reaches('GET', '/auditoria') && (
        <p class="hint">
          <a href={link('/auditoria', recordQuery(subject))}>
            {page.has_more ? 'Há mais na auditoria' : 'Ver na auditoria'}
          </a>
        </p>
      )}
    </Card>
  )
}

interface EventInBriefProps {
  readonly event: Envelope & { readonly changes: readonly Change[] }
  readonly timezone: string
}

/** An event in a sentence, with the fields that it changed. */
const EventInBrief = ({ event, timezone }: EventInBriefProps) => (
  <>
    {sentenceOf(event, timezone)}
    {event.changes.length > 0 && <ChangesInBrief changes={event.changes} />}
  </>
)

/** Links to the event if the user may open it, otherwise to the page at that revision. */
const Revision = ({ revision, visit }: { readonly revision: number; readonly visit: PageContext }) => {
  const event = `/auditoria/eventos/${revision}`
  return <a href={visit.reaches('GET', event) ? link(event) : link(visit.path, { em: revision })}>{revision}</a>
}

/** Audit filters for a record. */
export function recordQuery(subject: string): { tipo: string; numero: number } {
  const { type, id } = parseSubject(subject)
  return { tipo: type, numero: id }
}

/** A decrypted event, with personal data and costs masked for the session. */
export function shownEvent(event: Envelope, session: Pick<PanelSession, 'seesPersonalData' | 'permissions'>): Envelope {
  const data = session.seesPersonalData ? event.data : maskedData(event, readModelOfNow.personalFields(event), MASKED)
  return { ...event, data: may(session.permissions, 'see_costs') ? data : maskCosts(data) }
}

/** Form that opens the page as of a date and time. */
export const AsOfForm = ({ visit }: { readonly visit: PageContext }) => (
  <details class="card">
    <summary>Como era em…</summary>
    <form method="get" action={link(visit.path)} class="form">
      <div class="fields">
        <div class="field w6">
          <label for="em">Data e hora</label>
          <input id="em" name="em" type="datetime-local" required aria-describedby="em-dica" />
          <p class="hint" id="em-dica">
            Veja este cadastro como estava em outra data.
          </p>
        </div>
      </div>
      <div class="actions">
        <button type="submit">Ver</button>
      </div>
    </form>
  </details>
)
