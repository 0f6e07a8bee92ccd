import { formatDateTimeSeconds, formatQuantity, MASKED } from '#domain/person-values.ts'
import type { Envelope } from '#ledger/command.ts'
import { parseSubject } from '#ledger/projection.ts'
import { isJsonObject } from '#lib/json.ts'
import { listActors, listKnownActors, listSubjectNames } from '#queries/event-queries.ts'
import type { Option } from './forms/input-kinds.ts'
import { link } from './page-context.ts'
import type { PageContext, PageReadModel } from './panel-route.ts'
import { loadSteps, Slider } from './time-machine.tsx'
import { ListTable } from './ui/list-table.tsx'
import { FoldedCard } from './ui/page-parts.tsx'
import { eventName, fieldName, ORIGINS, subjectName } from './words/event-words.ts'
import { textOfBoolean, textOfValue, toSentence } from './words/record-words.ts'

/** Fields with their old and new values. */
export const ChangeList = ({ caption, changes }: { readonly caption: string; readonly changes: readonly Change[] }) => (
  <ListTable
    caption={caption}
    rows={changes}
    empty="Nenhum campo mudou."
    columns={[
      { head: 'Campo', cell: ({ field }) => field },
      { head: 'Antes', cell: ({ before }) => before ?? '—' },
      { head: 'Depois', cell: ({ after }) => after ?? '—' },
    ]}
  />
)

/** Changes shown per event in a list of events. */
const MENTIONED = 6

/** Changes in a few lines. */
const ChangesInBrief = ({ changes }: { readonly changes: readonly Change[] }) => (
  <ul class="brief">
    {changes.slice(0, MENTIONED).map(({ field, before, after }) => (
      <li key={field}>{describeChange({ field, before, after })}</li>
    ))}
    {changes.length > MENTIONED && <li>e mais {changes.length - MENTIONED}</li>}
  </ul>
)

/** Begins no noun: it is quoted. */
const NO_NOUN =
  /^(vê|resolve|repete|saiu|autorizado|recebe|recebido|registra|controla|usa|vende|aceita|permite|vale|visto|usado|quando|pela|pago|estornado|a)$/
const FEMININE = /^(cor|foto)$|(ção|são|dade|gem|a)$/
const FEMININE_PLURAL = /(ções|sões|dades|gens|as)$/
const MASCULINE = /^(dia|mês|sistema)$/

function withArticle(field: string): string {
  const name = /^.\p{Lu}/u.test(field) ? field : field.replace(/^./u, (letter) => letter.toLowerCase())
  const [first = ''] = name.toLowerCase().split(/[\s(]/, 1)
  if (NO_NOUN.test(first)) return `“${field}”`
  if (MASCULINE.test(first)) return `o ${name}`
  if (FEMININE_PLURAL.test(first)) return `as ${name}`
  if (FEMININE.test(first)) return `a ${name}`
  return /s$/.test(first) ? `os ${name}` : `o ${name}`
}

/** `o preço de R$ 18,90 para R$ 19,90`; a field within another is followed by that one. */
export function describeChange({ field, before, after }: Change): string {
  const path = field.split(' · ')
  const name = withArticle(path.pop() ?? '')
  const within = path.length === 0 ? '' : ` (${path.join(', ').toLowerCase()})`
  return `${name}${within}${before === null ? '' : ` de ${before}`} para ${after ?? 'vazio'}`
}

/** Raw JSON, collapsed. */
export const Raw = ({ title, value }: { readonly title: string; readonly value: object }) => (
  <details>
    <summary>{title}</summary>
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
    <pre tabIndex={0}>{JSON.stringify(value, null, 2)}</pre>
  </details>
)

/** One changed field in display texts; null for an absent value. */
export interface Change {
  readonly field: string
  readonly before: string | null
  readonly after: string | null
}

/** Limit of displayed changes; the raw form has all of them. */
const MOST = 200
/** Fields omitted from changes, because every record has them. */
const SELF_EVIDENT = new Set(['updated_at', 'company_id'])

type Json = Readonly<Record<string, unknown>>

const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === ''

function plainText(name: string, value: unknown, timezone: string): string {
  if (typeof value === 'boolean') return textOfBoolean(name, value)
  return textOfValue(name, String(value), timezone)
}

/** Texts of all values by their path: `Itens 2 · Preço unitário`. */
function* leaves(
  path: string,
  name: string,
  value: unknown,
  timezone: string,
): Iterable<[field: string, text: string]> {
  if (isEmpty(value)) return
  if (isJsonObject(value)) {
    for (const [member, inner] of Object.entries(value))
      yield* leaves(path === '' ? fieldName(member) : `${path} · ${fieldName(member)}`, member, inner, timezone)
  } else if (Array.isArray(value)) {
    if (!value.some((one) => typeof one === 'object' && one !== null)) {
      if (value.length > 0) yield [path, value.map((one) => plainText(name, one, timezone)).join(', ')]
    } else for (const [at, one] of value.entries()) yield* leaves(`${path} ${at + 1}`, name, one, timezone)
  } else yield [path, plainText(name, value, timezone)]
}

const textsOf = (value: object | null, timezone: string): Map<string, string> => {
  const members = Object.entries(value ?? {}).filter(([name]) => !SELF_EVIDENT.has(name))
  return new Map(leaves('', '', Object.fromEntries(members), timezone))
}

/** Most lines of a sale or order that are named; the raw form has all of them. */
const NAMED_LINES = 10

interface NamedLine {
  readonly description: string
  readonly quantity: string
}

const isNamedLine = (value: unknown): value is NamedLine =>
  isJsonObject(value) && typeof value.description === 'string' && typeof value.quantity === 'string'

/** `3 itens: Café torrado (1), Leite (2), Pão francês (0,392)`, for lines of a sale or order. */
function inOneLine(value: unknown): unknown {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isNamedLine)) return value
  const named = value
    .slice(0, NAMED_LINES)
    .map(({ description, quantity }) => `${description} (${formatQuantity(quantity)})`)
  const more = value.length > NAMED_LINES ? ` e mais ${value.length - NAMED_LINES}` : ''
  return `${value.length === 1 ? '1 item' : `${value.length} itens`}: ${named.join(', ')}${more}`
}

/** Differences between two states of a record, by field; null before its creation. */
export function describeChanges(before: Json | null, after: Json | null, timezone: string): Change[] {
  // Where there are no earlier lines, no single value of one can have changed.
  const added = Object.entries(after ?? {}).map(([name, value]) => [
    name,
    isEmpty(before?.[name]) ? inOneLine(value) : value,
  ])
  const [then, now] = [textsOf(before, timezone), textsOf(Object.fromEntries(added), timezone)]
  return [...new Set([...then.keys(), ...now.keys()])]
    .map((field) => ({ field, before: then.get(field) ?? null, after: now.get(field) ?? null }))
    .filter((change) => change.before !== change.after)
    .slice(0, MOST)
}

/** Data of an event in display texts, without the id of its record. */
export function describeEventData({ data }: Pick<Envelope, 'data'>, timezone: string): Change[] {
  const { id: _, ...fields } = data as Json
  const { changes, ...more } = fields
  return describeChanges(null, withRoleName({ ...more, ...(isJsonObject(changes) ? changes : {}) }), timezone)
}

/** Names of the fields that an event changed. */
export function fieldsChangedBy({ data }: Pick<Envelope, 'data'>): string[] {
  const { changes } = data as Json
  return isJsonObject(changes) ? Object.keys(changes).map(fieldName) : []
}

/** A role of the company's own by the name that it had then. */
const withRoleName = ({ role_name, ...fields }: Json): Json =>
  role_name === undefined ? fields : { ...fields, role: role_name }

/** Events that hold fields of their record; those of others are their own, even under the same name. */
const HOLDS_RECORD = /(Created|Registered|Invited|Revived|Placed)$/
/** A new record has no earlier values; a revived one has. */
const BEGINS_RECORD = /(Created|Registered|Invited|Placed)$/

/**
 * Fields that each event of a record changed, compared with earlier events of the record. The events must begin with
 * the first one, oldest first.
 */
export function changesOfEach(events: readonly Pick<Envelope, 'type' | 'data'>[], timezone: string): Change[][] {
  const known: Record<string, unknown> = {}
  return events.map(({ type, data }) => {
    const { id: _, changes, ...fields } = data as Json
    const after = withRoleName(isJsonObject(changes) ? changes : HOLDS_RECORD.test(type) ? fields : {})
    const before = Object.fromEntries(Object.keys(after).map((name) => [name, known[name]]))
    Object.assign(known, after)
    return BEGINS_RECORD.test(type) ? [] : describeChanges(before, after, timezone)
  })
}

/** Members that identify something for a program: hashes, keys, ids of attempts and at the provider. */
const TECHNICAL = new Set([
  'attempt_id',
  'idempotency_key',
  'provider_payment_id',
  'provider_status',
  'refund_id',
  'provider_refund_id',
  'listed',
  'fingerprint',
  'xml_sha256',
  'offline_id',
  'receivable_ids',
  'pix',
  'boleto',
  'ids',
])

/** The event without its technical members, and these alone. */
export function splitTechnical(data: object): readonly [plain: object, technical: object] {
  const [plain, technical] = [{}, {}] as Record<string, unknown>[]
  for (const [name, value] of Object.entries(data))
    Object.assign((TECHNICAL.has(name) ? technical : plain) ?? {}, { [name]: value })
  return [plain ?? {}, technical ?? {}]
}

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
  /** Records whose events belong to it, as the returns of a sale. */
  readonly others?: readonly string[] | undefined
  readonly revisions?: readonly number[]
  /** Whether the page shows the present alone. */
  readonly isNowOnly?: true
}

/** Events of a record, from the ledger. Hidden on pages of the past. */
export async function History({ visit, isNowOnly, ...of }: HistoryProps) {
  const { readModel } = visit
  const found = readModel.moment ? null : await loadSteps({ ...visit, primary: readModel.reader }, of)
  if (!found) return null
  const { steps: events, hasMore } = found
  const changes = changesOfEach(events, readModel.timezone)
  const actors = await namesOfActors(readModel, events)
  return (
    <FoldedCard title="Histórico">
      {!isNowOnly && <Slider visit={visit} steps={events} />}
      <ListTable
        isList
        caption="Histórico"
        rows={events.map((event, at) => ({ ...event, changes: changes[at] ?? [] }))}
        empty="Nenhuma atividade ainda."
        columns={[
          { head: 'Quando', cell: (event) => formatDateTimeSeconds(event.recorded_at, readModel.timezone) },
          {
            head: 'Atividade',
            cell: (event) => <EventInBrief event={event} who={actors(event.actor)} timezone={readModel.timezone} />,
          },
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
          <a href={link('/auditoria', recordQuery(of.subject))}>
            {hasMore ? 'Há mais na auditoria' : 'Ver na auditoria'}
          </a>
        </p>
      )}
    </FoldedCard>
  )
}

interface EventInBriefProps {
  readonly event: Envelope & { readonly changes: readonly Change[] }
  readonly who: string
  readonly timezone: string
}

/** An event in a sentence, with the fields that it changed. */
function EventInBrief({ event, who, timezone }: EventInBriefProps) {
  const { type, changes } = event
  const sentence = toSentence(event, timezone)
  // A sentence that says no more than that the record has changed.
  const isPlain = type.endsWith('Updated') && sentence === eventName(type)
  const [only] = changes
  if (isPlain && only && changes.length === 1) return <>{`${who} mudou ${describeChange(only)}`}</>
  return (
    <>
      {isPlain && only ? `${who} mudou` : sentence}
      {only && <ChangesInBrief changes={changes} />}
    </>
  )
}

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
