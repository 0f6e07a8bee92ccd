import { createHash } from 'node:crypto'
import * as z from 'zod'
import type { oas31 } from 'zod-openapi'
import { type EventType, listSubjectKinds, type PersonalMark } from '#events/event-definitions.ts'
import type { ReferencePage } from './docs-guides.tsx'
import { FieldTable, nameOfRef, Parameters, resolveRef, type Schema, Type, toAnchor } from './docs-operation.tsx'
import { DocsLinks, frame, pageOfObject, type Site } from './docs-page.tsx'
import { Code, Markdown, MarkdownLine } from './guides.tsx'

type EventTypes = Readonly<Record<string, EventType<unknown>>>
type EventAreas = Readonly<Record<string, EventTypes>>

interface EventSchema {
  readonly type?: string | readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly enum?: readonly string[]
  readonly properties?: Readonly<Record<string, EventSchema>>
  readonly required?: readonly string[]
  readonly items?: EventSchema
  readonly anyOf?: readonly EventSchema[]
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
      const shape = JSON.stringify(fieldsOf(z.toJSONSchema(data) as EventSchema, '', undefined))
      const digest = createHash('sha256').update(shape).digest('hex').slice(0, DIGEST_CHARACTERS)
      return `event ${name} ${place + 1} ${listSubjectKinds(type).join(',')} ${digest}`
    }),
  )

const DIGEST_CHARACTERS = 12

function section(name: string, type: EventType<unknown>): string {
  const { version, data, former } = type
  const subjects = listSubjectKinds(type).map((kind) => `\`${kind}/{id}\``)
  const tables = former.map(
    ({ data }, place) => `### ${name}, versão ${place + 1}\n\nNão é mais gravada.\n\n${tableOf(data)}`,
  )
  return [`## ${name}\n\nVersão ${version}, de ${subjects.join(', ')}.\n\n${tableOf(data)}`, ...tables.reverse()].join(
    '\n',
  )
}

function tableOf(data: z.ZodType): string {
  const fields = fieldsOf(z.toJSONSchema(data) as EventSchema, '', undefined)
  const rows = fields.map((field) => `| \`${field.name}\` | ${field.type} | ${notesOn(field)} |`)
  return `| Campo | Tipo | Notas |\n|---|---|---|\n${rows.join('\n')}\n`
}

const notesOn = ({ optional, personal }: Field): string =>
  [optional && 'opcional', personal && `**pessoal** (${personal.part}${ownerOf(personal)})`].filter(Boolean).join(', ')

const ownerOf = ({ person }: PersonalMark): string =>
  person === 'subject' ? '' : ` de \`${person.kind}/{${person.id}}\``

/** One line per field; those of inner objects follow under its name, and are personal when it is. */
function fieldsOf(schema: EventSchema, prefix: string, within: PersonalMark | undefined): Field[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, inner]) => {
    const optional = !schema.required?.includes(name)
    const personal = within ?? inner.personal
    const field = { name: prefix + name, type: typeOf(inner), optional, personal }
    const { object, mark } = innerObject(inner)
    return object ? [field, ...fieldsOf(object, `${field.name}${mark}.`, personal)] : [field]
  })
}

function innerObject(schema: EventSchema): { object: EventSchema | null; mark: string } {
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

function typeOf({ type, format, pattern, enum: values, items, anyOf }: EventSchema): string {
  if (anyOf) return anyOf.map(typeOf).join(' ou ')
  if (values) return `um de ${values.map((value) => `\`${value}\``).join(', ')}`
  if (items) return `lista de ${typeOf(items)}`
  const special = (pattern && PATTERNS[pattern]) ?? format
  const names = special ? [special] : [type ?? 'qualquer'].flat()
  return names.map((name) => NAMES[name] ?? name).join(' ou ')
}

/** Signature check of a receiver, as in docs/webhooks.md (OPS-17). */
export const VERIFY = `import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_SECONDS = 300

/** A plain object, a Map or \`Headers\`, with names in any case. */
export type Headers = Iterable<readonly [string, unknown]> | Readonly<Record<string, unknown>>

/** Whether a request comes from the service: \`body\` is what arrived, byte for byte, \`secret\` the whole \`whsec_…\`. */
export function isAuthentic(headers: Headers, body: Buffer, secret: string, now = Date.now()): boolean {
  const pairs = Symbol.iterator in headers ? [...headers] : Object.entries(headers)
  const header = new Map(pairs.map(([name, value]) => [name.toLowerCase(), [value].flat().join(' ')]))
  const id = header.get('webhook-id') ?? ''
  const timestamp = header.get('webhook-timestamp') ?? ''
  if (!/^\\d+$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > TOLERANCE_SECONDS) return false
  const key = Buffer.from(secret.trim().replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key).update(\`\${id}.\${timestamp}.\`).update(body).digest('base64')
  const expected = Buffer.from(\`v1,\${signature}\`)
  return (header.get('webhook-signature') ?? '').split(' ').some((each) => {
    const given = Buffer.from(each)
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
}
`

/** Sends a test delivery with SECRET to URL. */
export const TRIAL = `body='{"event":"webhook.test","occurred_at":"2026-11-21T08:17:15.123-03:00","origin":"system","data":{}}'
timestamp=$(date +%s)
id="test-$timestamp"
key=$(printf %s "\${SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
signature=$(printf '%s.%s.%s' "$id" "$timestamp" "$body" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$key" -binary | openssl base64 -A)
curl -sS -o /dev/null -w '%{http_code}\\n' "$URL" -H 'Content-Type: application/json' \\
  -H 'X-Service-Event: webhook.test' -H "webhook-id: $id" \\
  -H "webhook-timestamp: $timestamp" -H "webhook-signature: v1,$signature" --data-binary "$body"
`

/** Page of the webhook events: their requests, and how receivers verify the signature. */
export const webhooksPage = (site: Site): string => {
  const events = site.contracts.flatMap(({ contract }) => eventsOf(contract))
  const others = otherObjects(site, events)
  return frame({
    title: 'Webhooks',
    about: <DocsLinks />,
    menu: <Menu events={events} />,
    body: (
      <>
        <Arrival headers={events[0]?.headers ?? []} />
        <Verification />
        <section id="eventos">
          <h2>Eventos</h2>
          <Catalogue events={events} site={site} />
          {events.map((event) => (
            <Event
              key={event.name}
              event={event}
              like={events.find(({ data }) => data.$ref && data.$ref === event.data.$ref) ?? event}
            />
          ))}
        </section>
        {others.length > 0 && (
          <section id="objetos">
            <h2>Objetos</h2>
            {others.map(([name, schema]) => (
              <article key={name} id={toAnchor(name)}>
                <h3>{name}</h3>
                <FieldTable schema={schema} />
              </article>
            ))}
          </section>
        )}
      </>
    ),
  })
}

interface DocumentedEvent {
  readonly name: string
  readonly operation: oas31.OperationObject
  readonly headers: readonly oas31.ParameterObject[]
  readonly data: Schema
  readonly example: unknown
}

/** Objects that only deliveries have; others are on the pages of resources. */
function otherObjects(site: Site, events: readonly DocumentedEvent[]): [name: string, schema: Schema][] {
  const named = new Set(events.flatMap(({ data }) => (data.$ref ? nameOfRef(data.$ref) : [])))
  return site.contracts
    .flatMap(({ contract }) => Object.entries((contract.components?.schemas ?? {}) as Record<string, Schema>))
    .filter(([name]) => named.has(name) && pageOfObject(site, name) === '')
}

/** In the order of the contract. */
function eventsOf(contract: oas31.OpenAPIObject): DocumentedEvent[] {
  const documented = Object.entries((contract.webhooks ?? {}) as Record<string, { post: oas31.OperationObject }>)
  return documented.map(([name, { post: operation }]) => {
    const content = (operation.requestBody as oas31.RequestBodyObject).content['application/json']
    return {
      name,
      operation,
      headers: (operation.parameters ?? []) as oas31.ParameterObject[],
      data: resolveRef(content?.schema as Schema, contract).properties?.data as Schema,
      example: content?.example,
    }
  })
}

interface EventsProps {
  readonly events: readonly DocumentedEvent[]
}

const Menu = ({ events }: EventsProps) => (
  <nav aria-label="Webhooks">
    <p>
      <a href="#chegada">O que chega</a>
    </p>
    <p>
      <a href="#verificar">Como verificar</a>
    </p>
    <details open>
      <summary>Eventos</summary>
      <ul>
        {events.map(({ name, operation }) => (
          <li key={name}>
            <a href={`#${operation.operationId}`}>{name}</a>
          </li>
        ))}
      </ul>
    </details>
  </nav>
)

const ARRIVAL = `Cada evento é um POST ao endereço registrado (\`POST /webhooks\`), com o corpo \`event\`, \`occurred_at\`, \`origin\` e \`data\`, e os cabeçalhos abaixo. Responda com 2xx em até 10 segundos, depois de guardar a entrega e antes de trabalhar com ela: qualquer outra resposta é uma falha, e a entrega é repetida até cinco vezes, com o mesmo \`webhook-id\`.

Entregas podem se ultrapassar e, enquanto o endereço está fora, se perder: \`X-Service-Sequence\` mostra a lacuna, \`POST /webhooks/{id}/replay\` entrega de novo, e as listas com \`updated_since\` mostram tudo o que mudou.`

const Arrival = ({ headers }: { readonly headers: readonly oas31.ParameterObject[] }) => (
  <section id="chegada">
    <h2>O que chega</h2>
    <Markdown text={ARRIVAL} />
    <Parameters heading="h3" parameters={headers} />
  </section>
)

const RULES = `- **Antes de tudo, e sobre os bytes que chegaram.** Um corpo lido como JSON e escrito de novo é outro texto, e a assinatura não confere.
- **Confira \`webhook-signature\`, que cobre também o id.** Só por \`X-Service-Signature\`, uma entrega poderia ser repetida com outro id e passar por nova. \`X-Service-Sequence\` e \`X-Service-Revision\` não são assinados: servem para notar uma lacuna, e para mais nada.
- **Uma das assinaturas basta.** Durante a troca do segredo \`webhook-signature\` traz duas, a do segredo de antes e a do novo: quem confere as duas conhece um ou outro, e não recusa nada.
- **Até 300 segundos.** Recuse um \`webhook-timestamp\` mais distante, ou quem viu uma entrega a repetiria para sempre.
- **Em tempo constante.** Compare com \`timingSafeEqual\` ou equivalente.
- **A chave são os bytes do segredo**: o que \`whsec_\` antecede, lido como base64. De \`X-Service-Signature\`, o segredo inteiro. As bibliotecas de Standard Webhooks conferem os cabeçalhos \`webhook-*\`.`

const Verification = () => (
  <section id="verificar">
    <h2>Como verificar</h2>
    <Markdown text={RULES} />
    <h3>TypeScript</h3>
    <p>
      Sem pacote nenhum; <code>@tillbook/client/webhooks</code> traz o mesmo para Express, Fastify, Fetch e{' '}
      <code>node:http</code>.
    </p>
    <Code text={VERIFY} />
    <h3>curl e openssl</h3>
    <p>
      Uma entrega assinada, para experimentar o seu endereço: deve responder 2xx, e 401 se um byte for outro. O mesmo
      comando <code>openssl</code> confere uma que chegou.
    </p>
    <Code text={TRIAL} />
  </section>
)

const Catalogue = ({ events, site }: EventsProps & { readonly site: Site }) => (
  <table>
    <thead>
      <tr>
        <th>Evento</th>
        <th>Quando</th>
        <th>
          <code>data</code>
        </th>
      </tr>
    </thead>
    <tbody>
      {events.map(({ name, operation, data }) => (
        <tr key={name}>
          <td>
            <a href={`#${operation.operationId}`}>{name}</a>
          </td>
          <td>
            <MarkdownLine text={`${operation.summary}. ${operation.description}`} />
          </td>
          <td>
            <Type schema={data} pageOf={(name) => pageOfObject(site, name)} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

interface EventProps {
  readonly event: DocumentedEvent
  /** The first event with the same object: it has the example. */
  readonly like: DocumentedEvent
}

const Event = ({ event: { name, operation, headers, example }, like }: EventProps) => (
  <article id={operation.operationId}>
    <h3>
      <code>{name}</code>
    </h3>
    <Markdown text={`${operation.summary}. ${operation.description}`} />
    <Code text={requestOf(headers, like.name === name ? example : shortened(example as object))} />
    {like.name !== name && (
      <p>
        <code>data</code> aqui só com o começo; inteiro, como em{' '}
        <a href={`#${like.operation.operationId}`}>{like.name}</a>.
      </p>
    )}
  </article>
)

/** A delivery's body with the first member of its data only. */
const shortened = (body: { readonly data?: object }) => ({
  ...body,
  data: Object.fromEntries(Object.entries(body.data ?? {}).slice(0, 1)),
})

/** HTTP request of a delivery; only its JSON is indented. */
function requestOf(headers: readonly oas31.ParameterObject[], body: unknown): string {
  const lines = headers.filter(({ example }) => example !== undefined).map(({ name, example }) => `${name}: ${example}`)
  return `POST /hook HTTP/1.1\nContent-Type: application/json\n${lines.join('\n')}\n\n${JSON.stringify(body, null, 2)}`
}
