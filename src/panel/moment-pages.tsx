import * as z from 'zod'
import { addDays, addMilliseconds, CalendarDate, startOfDay } from '#domain/instant.ts'
import { formatDateTime, formatDateTimeSeconds } from '#domain/person-values.ts'
import { RECORD_KINDS, type RecordKind } from '#domain/record-values.ts'
import { describeIssues, type Refusal, refuse } from '#domain/refusals.ts'
import { limitedText } from '#domain/text.ts'
import { EVENT_TYPES, type EventName } from '#events/catalogue.ts'
import { listSubjectKinds } from '#events/event-definitions.ts'
import { Problem } from '#http/problems.ts'
import { loadClockCorrections, openEventAt, type TimelineFilters, timeline } from '#integrity/as-of.ts'
import { loadSealState } from '#integrity/checkpoints.ts'
import { findTableCheck } from '#integrity/table-checks.ts'
import { type Envelope, isRefusal, streamName } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { getRow, maskEvents, readModelHead } from '#queries/event-queries.ts'
import { hidesContents } from '#queries/reader.ts'
import { ActorName } from '#records/list-filters.ts'
import { choiceInput, dateInput, integerInput, namedOptions, type Option } from './forms/input-kinds.ts'
import { type Fields, fillFromBody, filterProblems } from './forms/panel-form.ts'
import { atMoment, link, parseMoment } from './page-context.ts'
import { Attestors, LastCheck, Seals } from './pages/audit-pages.tsx'
import type { PageContext, PanelPage, PanelRoute, PanelServices, TableRoute } from './panel-route.ts'
import {
  actorOptions,
  type Change,
  ChangeList,
  describeChanges,
  describeEventData,
  fieldsChangedBy,
  namesOfActors,
  namesOfSubjects,
  Raw,
  recordQuery,
  splitTechnical,
} from './record-history.tsx'
import { FilterProblems, Filters } from './ui/filters.tsx'
import { ListTable } from './ui/list-table.tsx'
import { Card, type Fact, Facts, Nothing } from './ui/page-parts.tsx'
import { FileLink } from './ui/panel-list.tsx'
import { EVENTS, eventName, KINDS, ORIGINS, subjectName, subjectPath } from './words/event-words.ts'
import { toSentence } from './words/record-words.ts'

/** Clocks of browsers may be ahead by this much. */
const CLOCK_TOLERANCE_MS = 60_000

/**
 * The page for a moment in `?em=` of which there is nothing to show: after now, or before the first event. Null for any
 * other moment.
 */
export async function unreachableMoment(visit: PageContext): Promise<PanelPage | null> {
  const { context, session, query, path, readModel } = visit
  const at = parseMoment(query.em?.trim() ?? '', readModel.timezone)
  if (!at || !('time' in at)) return null
  const action = { label: 'Ver como é agora', to: path }
  if (at.time > addMilliseconds(session.now, CLOCK_TOLERANCE_MS))
    return {
      title: 'Data no futuro',
      status: 422,
      body: (
        <Nothing title="Esse momento ainda não chegou" action={action}>
          Só é possível ver como era até agora.
        </Nothing>
      ),
    }
  const first = await beginningOf(context, session.companyId)
  if (first === null || at.time >= first) return null
  const begin = formatDateTime(first, readModel.timezone)
  return {
    title: 'Antes do início',
    status: 422,
    body: (
      <Nothing title={`O registro desta empresa começa em ${begin}`} action={action}>
        Antes disso não há nada para mostrar. Escolha uma data a partir desse momento.
      </Nothing>
    ),
  }
}

/** Time of the first event (UTC). */
async function beginningOf({ reads: { store } }: PanelServices, companyId: number): Promise<string | null> {
  for await (const { recorded_at } of store.pick(streamName(companyId), [0])) return recorded_at
  return null
}

/** Replaces a record at a moment before its creation: shows its title and a link to its present state. */
export const placeholderPage = ({ title, parent }: PanelPage, { path }: PageContext): PanelPage => ({
  title,
  ...(parent && { parent }),
  status: 404,
  body: (
    <Nothing title="Ainda não existia" action={{ label: 'Ver como é agora', to: path }}>
      Nesse momento este cadastro ainda não existia. Veja no histórico quando foi criado.
    </Nothing>
  ),
})

const PATH = '/auditoria'
const EVENTS_OF_A_PAGE = 50
/** As-of queries have a time limit of their own, so a disconnect is not passed on. */
const NEVER = new AbortController().signal

const FILTERS = (actors: readonly Option[]): Fields => ({
  evento: { label: 'Atividade', kind: choiceInput(namedOptions(EVENTS), 'Todos'), columns: 4 },
  tipo: { label: 'Registro', kind: choiceInput(namedOptions(KINDS), 'Todos'), columns: 3 },
  numero: { label: 'Número do registro', kind: integerInput, columns: 3 },
  origem: { label: 'Origem', kind: choiceInput(namedOptions(ORIGINS), 'Todas'), columns: 2 },
  quem: { label: 'Quem', kind: choiceInput(actors, 'Todos'), columns: 4 },
  de: { label: 'De', kind: dateInput, columns: 3 },
  ate: { label: 'Até', kind: dateInput, columns: 3 },
})

const RecordNumber = limitedText(20).regex(/^[1-9]\d{0,14}$/, 'deve ser um número inteiro positivo')

const Search = z
  .object({
    evento: z.enum(Object.keys(EVENTS)).optional(),
    tipo: z.enum(RECORD_KINDS).optional(),
    numero: RecordNumber.optional(),
    origem: z.enum(Object.keys(ORIGINS)).optional(),
    quem: ActorName.optional(),
    de: CalendarDate.optional(),
    ate: CalendarDate.optional(),
    antes: limitedText(20)
      .regex(/^\d{1,15}$/)
      .optional(),
  })
  .refine(({ tipo, numero }) => numero === undefined || tipo !== undefined, {
    path: ['tipo'],
    message: 'escolha o tipo de registro',
  })

/** Days are the company's calendar days. */
function filtersOf({ evento, tipo, numero, origem, quem, de, ate }: TimelineQuery, timezone: string): TimelineFilters {
  const isOfRecord = numero !== undefined
  return {
    types: evento ? [evento] : tipo && !isOfRecord ? typesAbout(tipo) : null,
    subject: isOfRecord ? `${tipo}/${numero}` : null,
    origin: origem ?? null,
    actor: quem ?? null,
    since: de === undefined ? null : startOfDay(de, timezone),
    until: ate === undefined ? null : startOfDay(addDays(ate, 1), timezone),
  }
}

const typesAbout = (kind: string): EventName[] =>
  (Object.keys(EVENT_TYPES) as EventName[]).filter((name) => listSubjectKinds(EVENT_TYPES[name]).includes(kind))

type TimelineQuery = z.infer<typeof Search>

/** Filters of the query string, or a refusal. */
function searchOf(filters: Fields, asked: PageContext['query']): TimelineQuery | Refusal {
  const query = Search.safeParse(asked)
  if (!query.success) return refuse('validation_failed', { ...describeIssues(query.error) })
  return filterProblems(filters, asked) ?? query.data
}

/** Time line of the ledger, newest first. */
async function showTimeline(visit: PageContext): Promise<PanelPage> {
  const asked = Object.fromEntries(Object.entries(visit.query).filter(([, value]) => value !== ''))
  const filters = FILTERS(await actorOptions(visit.readModel))
  const query = searchOf(filters, asked)
  const filled = fillFromBody(filters, asked, isRefusal(query) ? query : undefined)
  const check = await findTableCheck(visit.primary)
  const head = await readModelHead(visit.readModel.reader)
  const seals = await loadSealState(visit.primary)
  const body = (
    <>
      <Seals state={seals} timezone={visit.session.timezone} />
      <Attestors states={await visit.context.proofs.proof.attestors()} timezone={visit.session.timezone} />
      <LastCheck check={check} revision={head.revision} timezone={visit.session.timezone} />
      <Filters path={PATH} fields={filters} filled={filled} target="livro" />
      <div id="livro">
        {isRefusal(query) ? (
          <FilterProblems fields={filters} filled={filled} />
        ) : (
          <>
            <div class="list-head">
              <div />
              <FileLink to={`${PATH}.csv`} parameters={asked} />
            </div>
            {await events(visit, query)}
          </>
        )}
      </div>
    </>
  )
  return {
    title: 'Auditoria',
    body,
    main: { label: 'Verificar integridade', to: `${PATH}/conferir`, values: {} },
    more: [
      { label: 'Como era em…', to: `${PATH}/como-era` },
      { label: 'Pacote de auditoria', to: `${PATH}/pacote` },
    ],
  }
}

async function events(visit: PageContext, { antes, ...asked }: TimelineQuery) {
  const { readModel, context } = visit
  const { revision } = await readModelHead(readModel.reader)
  const before = Math.min(antes === undefined ? revision + 1 : Number(antes), revision + 1)
  const filters = filtersOf(asked, readModel.timezone)
  const corrections = await loadClockCorrections(readModel.reader)
  const found = await timeline(context.reads.store, readModel.companyId, corrections, before, filters, EVENTS_OF_A_PAGE)
  const shown = await maskEvents(readModel.reader, found.events)
  const actors = await namesOfActors(readModel, found.events)
  const names = await namesOfSubjects(readModel, found.events)
  return (
    <>
      <ListTable
        isList
        caption="Linha do tempo"
        rows={shown}
        empty="Nenhuma atividade neste período."
        columns={[
          { head: 'Evento nº', cell: (event) => <EventLink event={event} visit={visit} /> },
          { head: 'Quando', cell: (event) => formatDateTimeSeconds(event.recorded_at, readModel.timezone) },
          { head: 'Atividade', cell: (event) => (event.isHidden ? WITHHELD : eventName(event.type)) },
          { head: 'Campos', cell: (event) => fieldsChangedBy(event).join(', ') || '—', isExtra: true },
          {
            head: 'Registro',
            cell: ({ subject, isHidden }) =>
              isHidden ? WITHHELD : <RecordLink subject={subject} name={names(subject)} visit={visit} />,
          },
          { head: 'Origem', cell: (event) => ORIGINS[event.origin], isExtra: true },
          { head: 'Quem', cell: (event) => actors(event.actor), isExtra: true },
        ]}
      />
      {found.before !== null && found.events.length < EVENTS_OF_A_PAGE && (
        <p class="hint">{`Busca feita até o evento nº ${found.before}. Continue em Anteriores.`}</p>
      )}
      <nav class="pager" aria-label="Páginas">
        {antes !== undefined && <a href={link(PATH, asked)}>« Mais recentes</a>}
        {found.before !== null && (
          <a href={link(PATH, { ...asked, antes: found.before })} rel="next">
            Anteriores »
          </a>
        )}
      </nav>
    </>
  )
}

interface EventLinkProps {
  readonly event: Envelope
  readonly visit: PageContext
}

/** An event's content is hidden from some roles that see the list. */
const EventLink = ({ event: { revision }, visit }: EventLinkProps) => {
  const to = `${PATH}/eventos/${revision}`
  return visit.reaches('GET', to) ? <a href={link(to)}>{revision}</a> : revision
}

interface RecordLinkProps {
  readonly subject: string
  readonly name: string
  readonly visit: PageContext
}

const RecordLink = ({ subject, name, visit }: RecordLinkProps) => {
  const to = subjectPath(subject)
  return visit.reaches('GET', to) ? <a href={link(to)}>{name}</a> : subjectName(subject)
}

/** The record before and after an event; null if it cannot be reconstructed now. */
async function statesAround(visit: PageContext, { subject, revision }: Envelope): Promise<Change[] | null> {
  const { type, id } = parseSubject(subject)
  if (!RECORD_KINDS.includes(type as RecordKind)) return null
  const stateAt = async (at: number) => {
    if (at < 0) return null
    const then = { ...visit, query: { em: String(at) } }
    return atMoment(then, ({ readModel }) => getRow(readModel.reader, type as RecordKind, id), NEVER)
  }
  try {
    const before = await stateAt(revision - 1)
    return describeChanges(before, await stateAt(revision), visit.readModel.timezone)
  } catch (error) {
    // The as-of query was refused or timed out: the page shows the event alone.
    if (error instanceof Problem) return null
    throw error
  }
}

/** An event about a record that the role does not see: when it was, and its place in the chain. */
async function withheldEvent({ readModel }: PageContext, event: Envelope): Promise<PanelPage> {
  const actors = await namesOfActors(readModel, [event])
  const body = (
    <Card title="Resumo">
      <p>O conteúdo deste evento não aparece para o seu perfil de acesso.</p>
      <Facts
        facts={[
          ['Quando', formatDateTimeSeconds(event.recorded_at, readModel.timezone)],
          ['Origem', ORIGINS[event.origin]],
          ['Quem', actors(event.actor)],
          ['Hash', <code>{event.hash}</code>],
          ['Hash do evento anterior', <code>{event.previous_hash}</code>],
        ]}
      />
    </Card>
  )
  return { title: `Evento nº ${event.revision}`, parent: { label: 'Auditoria', to: PATH }, body }
}

/** One event: its content and changes in words, its stored form and hash. */
async function showEvent(visit: PageContext): Promise<PanelPage | null> {
  const { readModel, context, params } = visit
  if (!/^\d{1,15}$/.test(params.revision ?? '')) return null
  const revision = Number(params.revision)
  const found = await openEventAt(context.reads, readModel.companyId, revision)
  if (!found) return null
  const { reader } = readModel
  const [masked, inClear] = await maskEvents(reader, [found.event, { ...found.event, data: found.opened }])
  if (!masked || !inClear || masked.isHidden) return withheldEvent(visit, found.event)
  const isWhole = !hidesContents(reader.sight)
  const { isHidden: _, ...event } = isWhole ? { ...found.event, isHidden: false } : masked
  const opened = inClear.data
  const actors = await namesOfActors(readModel, [event])
  const name = (await namesOfSubjects(readModel, [event]))(event.subject)
  const changes = await statesAround(visit, event)
  const record = subjectPath(event.subject)
  const [plain, technical] = splitTechnical(opened)
  const factsOf = (data: object): Fact[] =>
    describeEventData({ data }, readModel.timezone).map(({ field, after }) => [field, after])
  const body = (
    <>
      <Card title="Resumo">
        <Facts
          facts={[
            ['Atividade', toSentence({ ...event, data: opened }, readModel.timezone)],
            ['Registro', <a href={link(record)}>{name}</a>],
            ['Quando', formatDateTimeSeconds(event.recorded_at, readModel.timezone)],
            ['Origem', ORIGINS[event.origin]],
            ['Quem', actors(event.actor)],
          ]}
        />
      </Card>
      <Card title="O que mudou">
        {changes === null ? (
          <p class="hint">Não foi possível mostrar o registro anterior agora: recarregue a página em instantes.</p>
        ) : (
          <ChangeList caption="O que mudou" changes={changes} />
        )}
      </Card>
      <Card title="Dados do evento">
        <Facts facts={factsOf(plain)} />
        <details>
          <summary>Detalhes técnicos</summary>
          <Facts
            facts={[
              ['Tipo do evento', event.type],
              ...factsOf(technical),
              ['Agente', event.via],
              ['Requisição', event.request_id],
              ['Hash', <code>{event.hash}</code>],
              ['Hash do evento anterior', <code>{event.previous_hash}</code>],
            ]}
          />
        </details>
        <Raw title="Dados (JSON)" value={opened} />
        <Raw title={isWhole ? 'Evento como foi gravado (JSON)' : 'Evento (JSON), sem o que é retido'} value={event} />
      </Card>
    </>
  )
  return {
    title: `Evento nº ${revision}`,
    parent: { label: 'Auditoria', to: PATH },
    main: { label: `${name} agora`, to: record },
    more: [
      { label: 'Como ficou', to: record, parameters: { em: revision } },
      revision > 0 && { label: 'Como era antes', to: record, parameters: { em: revision - 1 } },
      { label: 'Histórico completo', to: PATH, parameters: recordQuery(event.subject) },
    ],
    body,
  }
}

/** In place of what an event is about. */
const WITHHELD = 'Retido'

/** Events per portion of a file. */
const OF_A_FILE = 500

/** The time line as a file: actor, action, time and hash of each event, without its content. */
const timelineFile: TableRoute = {
  path: `${PATH}.csv`,
  section: 'audit',
  access: 'see_audit',
  async table(visit) {
    const { readModel, context } = visit
    const query = searchOf(FILTERS([]), Object.fromEntries(Object.entries(visit.query).filter(([, value]) => value)))
    if (isRefusal(query)) return query
    const filters = filtersOf(query, readModel.timezone)
    const corrections = await loadClockCorrections(readModel.reader)
    const { revision } = await readModelHead(readModel.reader)
    async function* rows() {
      for (let before: number | null = revision + 1; before !== null; ) {
        const found = await timeline(context.reads.store, readModel.companyId, corrections, before, filters, OF_A_FILE)
        const actors = await namesOfActors(readModel, found.events)
        for (const event of await maskEvents(readModel.reader, found.events)) {
          const { revision, recorded_at, type, subject, origin, actor, hash, isHidden } = event
          yield [
            revision,
            formatDateTimeSeconds(recorded_at, readModel.timezone),
            isHidden ? WITHHELD : eventName(type),
            isHidden ? WITHHELD : subjectName(subject),
            ORIGINS[origin],
            actors(actor),
            hash,
          ]
        }
        before = found.before
      }
    }
    const heads = ['Evento nº', 'Quando', 'Atividade', 'Registro', 'Origem', 'Quem', 'Hash']
    return { heads, rows: rows() }
  },
}

export const timelinePages: readonly PanelRoute[] = [
  { path: PATH, section: 'audit', access: 'see_audit', fromReplica: true, show: showTimeline },
  timelineFile,
  { path: `${PATH}/eventos/:revision`, section: 'audit', access: 'see_company', show: showEvent },
]
