import { createHash } from 'node:crypto'
import * as z from 'zod'
import { type EventType, kindsOf, type PersonalMark } from '#events/event-definitions.ts'
import type { ReferencePage } from './docs-guides.tsx'

type EventTypes = Readonly<Record<string, EventType<unknown>>>
type EventAreas = Readonly<Record<string, EventTypes>>

interface Schema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly personal?: PersonalMark
}

interface Field {
  readonly name: string
  readonly type: string
  readonly optional: boolean
  readonly personal: PersonalMark | undefined
}

const HEADER = `# Eventos do registro

Toda alteração de uma empresa é um evento. Os eventos têm o mesmo envelope: \`id\`, \`type\`, \`version\`, \`stream\`, \`revision\`, \`recorded_at\`,
\`subject\`, \`origin\`, \`actor\`, \`request_id\`, \`idempotency\`, \`previous_hash\`, \`hash\` e \`data\`. As páginas abaixo mostram \`data\`.

Campos **pessoais** são gravados como \`{"sealed": "…"}\`, com a chave daquela parte (identity ou contact) da pessoa, e ficam nulos depois da
exclusão. A forma de uma versão nunca muda; exportações e \`GET /events\` mostram o que foi gravado.
`

/** The index and one page for each area, in the order of the declarations. */
export function eventReference(areas: EventAreas): ReferencePage[] {
  const lists = Object.entries(areas).map(([area, types]) => {
    const names = Object.keys(types).map((name) => `- [${name}](/docs/eventos/${area}#${name.toLowerCase()})\n`)
    return `## ${titleOf(area)}\n\n${names.join('')}`
  })
  return [
    { path: '/docs/eventos', lang: 'pt-BR', text: () => [HEADER, ...lists].join('\n') },
    ...Object.entries(areas).map(([area, types]) => ({
      path: `/docs/eventos/${area}`,
      lang: 'pt-BR' as const,
      text: () => eventsOfArea(titleOf(area), types),
    })),
  ]
}

const TITLES: Readonly<Record<string, string>> = { catalogo: 'Catálogo', inventarios: 'Inventários' }
const titleOf = (area: string): string => TITLES[area] ?? area.replace(/^./, (first) => first.toUpperCase())

/** Events of an area as Markdown. */
export function eventsOfArea(title: string, types: EventTypes): string {
  const sections = Object.entries(types).map(([name, type]) => section(name, type))
  return [`# Eventos: ${title}\n`, ...sections].join('\n')
}

/** One line for each version of each event: its subject and a digest of its shape. */
export const shapesOfEvents = (types: EventTypes): string[] =>
  Object.entries(types).flatMap(([name, type]) =>
    [...type.former.map(({ data }) => data), type.data].map((data, place) => {
      const shape = JSON.stringify(fieldsOf(z.toJSONSchema(data) as Schema, '', undefined))
      const digest = createHash('sha256').update(shape).digest('hex').slice(0, DIGEST_CHARACTERS)
      return `event ${name} ${place + 1} ${kindsOf(type).join(',')} ${digest}`
    }),
  )

const DIGEST_CHARACTERS = 12

function section(name: string, type: EventType<unknown>): string {
  const { version, data, former } = type
  const subjects = kindsOf(type).map((kind) => `\`${kind}/{id}\``)
  const tables = former.map(
    ({ data }, place) => `### ${name}, versão ${place + 1}\n\nNão é mais gravada.\n\n${tableOf(data)}`,
  )
  return [`## ${name}\n\nVersão ${version}, de ${subjects.join(', ')}.\n\n${tableOf(data)}`, ...tables.reverse()].join(
    '\n',
  )
}

function tableOf(data: z.ZodType): string {
  const fields = fieldsOf(z.toJSONSchema(data) as Schema, '', undefined)
  const rows = fields.map((field) => `| \`${field.name}\` | ${field.type} | ${notesOn(field)} |`)
  return `| Campo | Tipo | Notas |\n|---|---|---|\n${rows.join('\n')}\n`
}

const notesOn = ({ optional, personal }: Field): string =>
  [optional && 'opcional', personal && `**pessoal** (${personal.part}${ownerOf(personal)})`].filter(Boolean).join(', ')

const ownerOf = ({ person }: PersonalMark): string =>
  person === 'subject' ? '' : ` de \`${person.kind}/{${person.id}}\``

/** One line per field; those of inner objects follow under its name, and are personal when it is. */
function fieldsOf(schema: Schema, prefix: string, within: PersonalMark | undefined): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const optional = !schema.required?.includes(name)
    const personal = within ?? inner.personal
    const field = { name: prefix + name, type: typeOf(inner), optional, personal }
    const { object, mark } = innerObject(inner)
    return object ? [field, ...fieldsOf(object, `${field.name}${mark}.`, personal)] : [field]
  })
}

function innerObject(schema: Schema): { object: Schema | null; mark: string } {
  const shown = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema
  if (shown.items) return { ...innerObject(shown.items), mark: '[]' }
  return { object: shown.properties ? shown : null, mark: '' }
}

/** Patterns of src/events/event-definitions.ts, for people. */
const PATTERNS: Readonly<Record<string, string>> = {
  '^\\d+\\.\\d{2}$': 'decimal em texto, 2 casas',
  '^-?\\d+\\.\\d{3}$': 'decimal em texto com sinal, 3 casas',
}

const NAMES: Readonly<Record<string, string>> = {
  string: 'texto',
  integer: 'inteiro',
  boolean: 'booleano',
  object: 'objeto',
  null: 'nulo',
  date: 'data',
  'date-time': 'instante UTC',
}

function typeOf({ type, format, pattern, enum: values, items, anyOf }: Schema): string {
  if (anyOf) return anyOf.map(typeOf).join(' ou ')
  if (values) return `um de ${values.map((value) => `\`${value}\``).join(', ')}`
  if (items) return `lista de ${typeOf(items)}`
  const special = (pattern && PATTERNS[pattern]) ?? format
  const names = special ? [special] : [type ?? 'qualquer'].flat()
  return names.map((name) => NAMES[name] ?? name).join(' ou ')
}
