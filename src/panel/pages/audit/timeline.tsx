import { z } from 'zod'
import { correctionsOf } from '#audit/clock-corrections.ts'
import { findTableCheck } from '#audit/table-checks.ts'
import { openedEventAt, type TimelineFilters, timeline } from '#audit/timeline.ts'
import { headOf } from '#audit/verify.ts'
import { addDays, CalendarDate, startOfDay } from '#domain/instant.ts'
import { RECORD_KINDS } from '#domain/record-kinds.ts'
import { describeIssues } from '#domain/validation.ts'
import { EVENT_TYPES, type EventName } from '#events/catalogue.ts'
import { kindsOf } from '#events/define.ts'
import type { Envelope } from '#ledger/envelope.ts'
import { sealStateOf } from '#proof/seal-state.ts'
import { dateTimeSeconds } from '../../format.ts'
import { type Fields, filledWith } from '../../forms/form.ts'
import { choice, date, integer, namedOptions } from '../../forms/kinds.ts'
import { link } from '../../link.ts'
import type { Page, PanelRoute, Visit } from '../../route.ts'
import { ButtonForm, Filters } from '../../ui/form.tsx'
import { namesOfActors } from '../../ui/history.tsx'
import { Table } from '../../ui/list.tsx'
import { Actions, Alert, ButtonLink, Card, Facts } from '../../ui/parts.tsx'
import { EVENTS, eventName, KINDS, ORIGINS, subjectName, subjectPath } from '../../words/events.ts'
import { Seals } from './seals.tsx'
import { LastCheck } from './table-check.tsx'

const PATH = '/auditoria'
const EVENTS_OF_A_PAGE = 50

const FILTERS: Fields = {
  evento: { label: 'Acontecimento', kind: choice(namedOptions(EVENTS)), columns: 4 },
  tipo: { label: 'Registro', kind: choice(namedOptions(KINDS)), columns: 3 },
  numero: { label: 'Número do registro', kind: integer, columns: 3 },
  origem: { label: 'Por onde', kind: choice(namedOptions(ORIGINS)), columns: 2 },
  de: { label: 'De', kind: date, columns: 3 },
  ate: { label: 'Até', kind: date, columns: 3 },
}

const RecordNumber = z.string().regex(/^[1-9]\d{0,14}$/, 'deve ser um número inteiro positivo')

const Search = z
  .object({
    evento: z.enum(Object.keys(EVENTS)).optional(),
    tipo: z.enum(RECORD_KINDS).optional(),
    numero: RecordNumber.optional(),
    origem: z.enum(Object.keys(ORIGINS)).optional(),
    de: CalendarDate.optional(),
    ate: CalendarDate.optional(),
    antes: z
      .string()
      .regex(/^\d{1,15}$/)
      .optional(),
  })
  .refine(({ tipo, numero }) => numero === undefined || tipo !== undefined, {
    path: ['tipo'],
    message: 'escolha de que registro é o número',
  })

/** Days are the company's own. */
function filtersOf(
  { evento, tipo, numero, origem, de, ate }: z.infer<typeof Search>,
  timezone: string,
): TimelineFilters {
  const isOfRecord = numero !== undefined
  return {
    types: evento ? [evento] : tipo && !isOfRecord ? typesAbout(tipo) : null,
    subject: isOfRecord ? `${tipo}/${numero}` : null,
    origin: origem ?? null,
    actor: null,
    since: de === undefined ? null : startOfDay(de, timezone),
    until: ate === undefined ? null : startOfDay(addDays(ate, 1), timezone),
  }
}

const typesAbout = (kind: string): EventName[] =>
  (Object.keys(EVENT_TYPES) as EventName[]).filter((name) => kindsOf(EVENT_TYPES[name]).includes(kind))

/** The ledger as a time line, the newest first. */
async function showTimeline(visit: Visit): Promise<Page> {
  const asked = Object.fromEntries(Object.entries(visit.query).filter(([, value]) => value !== ''))
  const query = Search.safeParse(asked)
  const filled = query.success
    ? filledWith(FILTERS, asked)
    : filledWith(FILTERS, asked, { refused: 'validation_failed', details: { ...describeIssues(query.error) } })
  const check = await findTableCheck(visit.context.pool, visit.session.companyId)
  const seals = await sealStateOf(visit.context.pool, visit.session.companyId)
  const body = (
    <>
      <Seals state={seals} timezone={visit.session.timezone} />
      <LastCheck check={check} timezone={visit.session.timezone} />
      <Actions>
        <ButtonForm visit={visit} to={`${PATH}/conferir`} label="Conferir o livro" />
        <ButtonLink to={`${PATH}/como-era`}>Como era em…</ButtonLink>
      </Actions>
      <Filters path={PATH} fields={FILTERS} filled={filled} target="livro" />
      <div id="livro">{query.success ? await events(visit, query.data) : <Alert>{filled.problem}</Alert>}</div>
    </>
  )
  return { title: 'Auditoria', body }
}

async function events(visit: Visit, { antes, ...asked }: ReturnType<typeof Search.parse>) {
  const { readModel, context } = visit
  const { revision } = await headOf(readModel.pool, readModel.companyId)
  const before = Math.min(antes === undefined ? revision + 1 : Number(antes), revision + 1)
  const filters = filtersOf(asked, readModel.timezone)
  const corrections = await correctionsOf(readModel.pool, readModel.companyId)
  const found = await timeline(context.store, readModel.companyId, corrections, before, filters, EVENTS_OF_A_PAGE)
  const actors = await namesOfActors(readModel, found.events)
  return (
    <>
      <Table
        caption="Linha do tempo do livro"
        rows={found.events}
        empty="Nenhum acontecimento nesta parte do livro."
        columns={[
          { head: 'Revisão', cell: (event) => <EventLink event={event} />, isNumber: true },
          { head: 'Quando', cell: (event) => dateTimeSeconds(event.recorded_at, readModel.timezone) },
          { head: 'O quê', cell: (event) => eventName(event.type) },
          { head: 'Registro', cell: ({ subject }) => <a href={link(subjectPath(subject))}>{subjectName(subject)}</a> },
          { head: 'Por onde', cell: (event) => ORIGINS[event.origin], isExtra: true },
          { head: 'Quem', cell: (event) => actors(event.actor), isExtra: true },
        ]}
      />
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

const EventLink = ({ event }: { readonly event: Envelope }) => (
  <a href={link(`${PATH}/eventos/${event.revision}`)}>{event.revision}</a>
)

/** One event: what it says, and how it is stored and was hashed. */
async function showEvent(visit: Visit): Promise<Page | null> {
  const { readModel, context, params } = visit
  if (!/^\d{1,15}$/.test(params.revision ?? '')) return null
  const revision = Number(params.revision)
  const found = await openedEventAt(context, readModel.companyId, revision)
  if (!found) return null
  const { event, opened } = found
  const actors = await namesOfActors(readModel, [event])
  const record = subjectPath(event.subject)
  const body = (
    <>
      <Actions>
        <ButtonLink to={record}>{`${subjectName(event.subject)} agora`}</ButtonLink>
        <ButtonLink to={record} parameters={{ em: revision }}>
          Como ficou então
        </ButtonLink>
        {revision > 0 && (
          <ButtonLink to={record} parameters={{ em: revision - 1 }}>
            Como era antes
          </ButtonLink>
        )}
      </Actions>
      <Card title="O que aconteceu">
        <Facts
          facts={[
            ['O quê', eventName(event.type)],
            ['Registro', <a href={link(record)}>{subjectName(event.subject)}</a>],
            ['Quando', dateTimeSeconds(event.recorded_at, readModel.timezone)],
            ['Por onde', ORIGINS[event.origin]],
            ['Quem', actors(event.actor)],
            ['Requisição', event.request_id],
          ]}
        />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <pre tabIndex={0}>{JSON.stringify(opened, null, 2)}</pre>
      </Card>
      <Card title="No livro">
        <Facts
          facts={[
            ['Hash', <code>{event.hash}</code>],
            ['Hash do evento anterior', <code>{event.previous_hash}</code>],
          ]}
        />
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <pre tabIndex={0}>{JSON.stringify(event, null, 2)}</pre>
      </Card>
    </>
  )
  return { title: `Evento ${revision}`, body }
}

export const timelinePages: readonly PanelRoute[] = [
  { path: PATH, section: 'audit', access: 'owner', show: showTimeline },
  { path: `${PATH}/eventos/:revision`, section: 'audit', access: 'owner', show: showEvent },
]
