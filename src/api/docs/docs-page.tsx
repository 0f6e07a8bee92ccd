import type { ComponentChildren } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { oas31 } from 'zod-openapi'
import { ERROR_COMPONENTS } from '../contract/contract-errors.ts'
import { isEnvelope } from '../contract/generators.ts'
import {
  bodyExample,
  codeOfLine,
  DocsBadge,
  type DocumentedOperation,
  FieldTable,
  Json,
  listOperationErrors,
  listOperations,
  nameOfRef,
  OperationSection,
  parameterExample,
  type Schema,
  toAnchor,
} from './docs-operation.tsx'
import { Code, GUIDES, Markdown, MarkdownLine, PORTUGUESE_GUIDES } from './guides.tsx'

/** A contract, and where it is published. */
export interface PublishedContract {
  readonly contract: oas31.OpenAPIObject
  /** Path of its OpenAPI document. */
  readonly path: string
  /** Variable of a shell that holds the credential. */
  readonly credential: 'KEY' | 'TOKEN'
}

/** A group of operations with a page of its own. */
export interface Resource extends PublishedContract {
  readonly name: string
  readonly about: string
  /** Path of its page. */
  readonly page: string
  readonly operations: readonly DocumentedOperation[]
  /** Objects that its requests and answers refer to, except errors and envelopes, which stand with the operations. */
  readonly objects: readonly (readonly [name: string, schema: Schema])[]
}

/** What /docs shows. */
export interface Site {
  /** URL of the service. */
  readonly publicUrl: string
  readonly contracts: readonly PublishedContract[]
  readonly resources: readonly Resource[]
}

export function createSite(publicUrl: string, published: readonly PublishedContract[]): Site {
  const contracts = published.map(withInlineLists)
  return { publicUrl: publicUrl.replace(/\/+$/, ''), contracts, resources: contracts.flatMap(resourcesOf) }
}

/** The pages show the values of a list with each field: they are components for generators only. */
function withInlineLists(published: PublishedContract): PublishedContract {
  const schemas = (published.contract.components?.schemas ?? {}) as Record<string, Schema>
  const inlined = <T,>(node: T): T => {
    if (Array.isArray(node)) return node.map(inlined) as T
    if (typeof node !== 'object' || node === null) return node
    const list = '$ref' in node ? schemas[nameOfRef(String(node.$ref))]?.enum : undefined
    if (list) return { ...node, $ref: undefined, type: 'string', enum: list.filter((value) => value !== '') }
    return Object.fromEntries(Object.entries(node).map(([member, value]) => [member, inlined(value)])) as T
  }
  const { components, ...rest } = inlined(published.contract)
  const objects = Object.fromEntries(Object.entries(components?.schemas ?? {}).filter(([name]) => !schemas[name]?.enum))
  return { ...published, contract: { ...rest, components: { ...components, schemas: objects } } }
}

/** `Notificações de pagamento` → `notificacoes-de-pagamento`. */
const slugOf = (name: string): string => name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replaceAll(' ', '-')

function resourcesOf(published: PublishedContract): Resource[] {
  const { contract } = published
  const operations = listOperations(contract)
  return (contract.tags ?? []).map(({ name, description = '' }) => {
    const own = operations.filter(({ operation }) => operation.tags?.includes(name))
    return {
      ...published,
      name,
      about: description,
      page: `/docs/recursos/${slugOf(name)}`,
      operations: own,
      objects: objectsOf(own, contract),
    }
  })
}

/** Components that operations refer to, also indirectly, in the order of the contract. */
function objectsOf(operations: readonly DocumentedOperation[], { components }: oas31.OpenAPIObject) {
  const schemas = (components?.schemas ?? {}) as Record<string, Schema>
  const named = new Set<string>()
  const collect = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const ref = '$ref' in node ? String(node.$ref) : ''
    const name = nameOfRef(ref)
    if (ref.includes('/schemas/') && !named.has(name) && !isErrorObject(name)) {
      named.add(name)
      collect(schemas[name])
    }
    for (const value of Object.values(node)) collect(value)
  }
  for (const { operation } of operations) collect([operation.requestBody, operation.responses])
  return Object.entries(schemas).filter(([name]) => named.has(name) && !isEnvelope(name))
}

const isErrorObject = (name: string): boolean => name === 'Failure' || ERROR_COMPONENTS.includes(name)

/** Path of an operation below the root of the service. */
export function operationPath({ contract }: PublishedContract, path: string): string {
  const { pathname } = new URL(contract.servers?.[0]?.url ?? '/', 'http://localhost')
  return `${pathname.replace(/\/+$/, '')}${path}`
}

/** Page and anchor of an object. */
export const pageOfObject = ({ resources }: Site, name: string): string =>
  resources.find(({ objects }) => objects.some(([object]) => object === name))?.page ?? ''

interface FrameProps {
  readonly title: string
  /** Line below the title. */
  readonly about: ComponentChildren
  readonly menu: ComponentChildren
  readonly body: ComponentChildren
  readonly lang?: 'pt-BR' | 'en'
  /** Path of a script of the page. */
  readonly script?: string
}

const SKIP = { 'pt-BR': 'Ir para o conteúdo', en: 'Skip to content' }

/** HTML of a page of `/docs`. */
export const frame = ({ title, about, menu, body, lang = 'pt-BR', script }: FrameProps): string =>
  `<!doctype html>\n${renderToString(
    <html lang={lang}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
        <link rel="stylesheet" href="/docs/style.css" />
        {script && <script src={script} defer />}
      </head>
      <body>
        <a class="skip" href="#conteudo">
          {SKIP[lang]}
        </a>
        <header>
          <h1>{title}</h1>
          <p>{about}</p>
        </header>
        {menu}
        <main id="conteudo">{body}</main>
      </body>
    </html>,
  )}\n`

/** Links to the other parts of the documentation, below the title of each page. */
export const DocsLinks = () => (
  <>
    <a href="/docs">Documentação</a> · <a href="/docs/guias">Guias</a> · <a href="/docs/webhooks">Webhooks</a> ·{' '}
    <a href="/docs/postman.json">Postman</a>
  </>
)

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** A command of curl that carries out an operation with its example. */
export function toCurl(
  publicUrl: string,
  published: PublishedContract,
  { method, path, operation }: DocumentedOperation,
) {
  const parameters = (operation.parameters ?? []) as oas31.ParameterObject[]
  const required = parameters.filter((parameter) => parameter.required)
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name)
    return encodeURIComponent(parameter ? parameterExample(parameter) : name)
  })
  const query = new URLSearchParams(
    required.filter((each) => each.in === 'query').map((each) => [each.name, parameterExample(each)]),
  ).toString()
  const body = bodyExample(operation)
  const isStream = JSON.stringify(operation.responses?.['200'] ?? {}).includes('text/event-stream')
  const options = [
    ...(method === 'get' ? [] : [`-X ${method.toUpperCase()}`]),
    ...(isStream ? ['-N'] : []),
    quoted(`${publicUrl}${operationPath(published, filled)}${query && `?${query}`}`),
  ].join(' ')
  const lines = [
    `curl ${options}`,
    ...(operation.security?.length === 0 ? [] : [`-H "Authorization: Bearer $${published.credential}"`]),
    ...required
      .filter((each) => each.in === 'header')
      .map((each) => `-H ${quoted(`${each.name}: ${parameterExample(each)}`)}`),
    ...(body === undefined
      ? []
      : [`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body, null, 2))}`]),
  ]
  return lines.join(' \\\n  ')
}

/** Page of a resource: its operations, and the objects that they refer to. */
export const resourcePage = (publicUrl: string, resource: Resource): string =>
  frame({
    title: resource.name,
    about: <DocsLinks />,
    menu: <OperationMenu resource={resource} />,
    body: (
      <>
        <section>
          <h2>Operações</h2>
          <p>{resource.about}</p>
          {resource.operations.map((found) => (
            <OperationSection
              key={found.operation.operationId}
              found={found}
              contract={resource.contract}
              address={operationPath(resource, found.path)}
              curl={toCurl(publicUrl, resource, found)}
            />
          ))}
        </section>
        <section id="objetos">
          <h2>Objetos</h2>
          {resource.objects.map(([name, schema]) => (
            <article key={name} id={toAnchor(name)}>
              <h3>{name}</h3>
              <FieldTable schema={schema} />
              <Json value={schema.examples?.[0]} />
            </article>
          ))}
        </section>
      </>
    ),
  })

const OperationMenu = ({ resource: { operations } }: { readonly resource: Resource }) => (
  <nav aria-label="Operações">
    <ul>
      {operations.map(({ method, operation }) => (
        <li key={operation.operationId}>
          <a href={`#${operation.operationId}`}>
            <DocsBadge method={method} /> {operation.summary}
          </a>
        </li>
      ))}
      <li>
        <a href="#objetos">Objetos</a>
      </li>
    </ul>
  </nav>
)

/** The first page: addresses, conventions, guides, and all operations, with a search. */
export const docsPage = (site: Site): string =>
  frame({
    title: 'Documentação da API',
    about: <DocsLinks />,
    script: '/docs/busca.js',
    menu: <ResourceMenu resources={site.resources} />,
    body: (
      <>
        <Addresses site={site} />
        <p id="busca" class="search" hidden>
          <label>
            Buscar operações, campos, códigos de erro e guias <input type="search" autocomplete="off" />
          </label>
          <output />
        </p>
        <GuideList />
        {site.resources.map((resource) => (
          <Operations key={resource.page} resource={resource} />
        ))}
        <ErrorCodes site={site} />
        {site.contracts.map(({ contract }) => (
          <section key={contract.info.title} id={conventionsOf(contract)}>
            <h2>Convenções: {contract.info.title.replace(/^Tillbook: /, '')}</h2>
            <p>Versão {contract.info.version}.</p>
            <Markdown text={contract.info.description ?? ''} />
          </section>
        ))}
      </>
    ),
  })

const conventionsOf = ({ info }: oas31.OpenAPIObject): string =>
  /API/.test(info.title) ? 'convencoes' : 'convencoes-caixas'

const ResourceMenu = ({ resources }: { readonly resources: readonly Resource[] }) => (
  <nav aria-label="Documentação">
    <ul>
      <li>
        <a href="#enderecos">Endereços e contratos</a>
      </li>
      <li>
        <a href="#guias">Guias</a>
      </li>
      {resources.map(({ name, page }) => (
        <li key={page}>
          <a href={page}>{name}</a>
        </li>
      ))}
      <li>
        <a href="/docs/webhooks">Eventos de webhooks</a>
      </li>
      <li>
        <a href="#erros">Códigos de erro</a>
      </li>
      <li>
        <a href="#convencoes">Convenções</a>
      </li>
    </ul>
  </nav>
)

const Addresses = ({ site }: { readonly site: Site }) => (
  <section id="enderecos">
    <h2>Endereços e contratos</h2>
    <p>
      URL base da API de integração: <code>{`${site.publicUrl}/api/v1`}</code>; dos caixas:{' '}
      <code>{`${site.publicUrl}/api`}</code>.
    </p>
    <ul>
      {site.contracts.map(({ contract, path }) => (
        <li key={path}>
          <a href={path}>OpenAPI 3.1</a>: {contract.info.title.replace(/^Tillbook: /, '')}
        </li>
      ))}
      <li>
        <a href="/docs/postman.json">Coleção do Postman</a>: todas as operações, com exemplos
      </li>
    </ul>
    <p>Para começar, com a chave de API da empresa:</p>
    <Code text={`export KEY=tb_live_…\ncurl '${site.publicUrl}/api/v1/me' -H "Authorization: Bearer $KEY"`} />
  </section>
)

const GuideList = () => (
  <section id="guias" data-grupo>
    <h2>Guias</h2>
    <ul>
      {[...GUIDES, ...PORTUGUESE_GUIDES].map(({ name, title, about }) => (
        <li key={name}>
          <a href={`/docs/guias/${name}`}>{title}</a>: {about}
        </li>
      ))}
      <li>
        <a href="/docs/webhooks">Eventos de webhooks</a>: cada evento como é enviado
      </li>
      <li>
        <a href="/docs/eventos">Eventos do registro</a>: os campos de cada evento, com os pessoais marcados
      </li>
      <li>
        <a href="/docs/permissoes">Perfis de acesso</a>: o que cada perfil pode e vê
      </li>
      <li lang="en">
        <a href="/docs/settings">Settings</a>: environment variables of the service
      </li>
    </ul>
  </section>
)

const Operations = ({ resource }: { readonly resource: Resource }) => (
  <section data-grupo>
    <h2>
      <a href={resource.page}>{resource.name}</a>
    </h2>
    <p>{resource.about}</p>
    <ul class="operations">
      {resource.operations.map((documented) => (
        <li key={documented.operation.operationId} data-termos={termsOf(documented, resource.contract)}>
          <a href={`${resource.page}#${documented.operation.operationId}`}>
            <DocsBadge method={documented.method} /> {documented.operation.summary}
          </a>{' '}
          <code>{operationPath(resource, documented.path)}</code>
        </li>
      ))}
    </ul>
  </section>
)

/** Every code of API v1 with its status, once. */
function ErrorCodes({ site }: { readonly site: Site }) {
  const lines = new Map<string, string>()
  for (const { contract, operations } of site.resources)
    for (const { operation } of operations)
      for (const { status, line } of listOperationErrors(operation, contract))
        if (codeOfLine(line)) lines.set(line, status)
  return (
    <section id="erros">
      <h2>Códigos de erro</h2>
      <ul>
        {[...lines]
          .sort(([, a], [, b]) => (a < b ? -1 : 1))
          .map(([line, status]) => (
            <li key={line}>
              <code>{status}</code> <MarkdownLine text={line} />
            </li>
          ))}
      </ul>
    </section>
  )
}

/** Words of an operation that its summary does not have: its id, fields, parameters and error codes. */
function termsOf({ operation }: DocumentedOperation, contract: oas31.OpenAPIObject): string {
  const terms = new Set([operation.operationId ?? ''])
  for (const parameter of (operation.parameters ?? []) as oas31.ParameterObject[]) terms.add(parameter.name)
  const body = (operation.requestBody as oas31.RequestBodyObject | undefined)?.content['application/json']
  for (const name of Object.keys((body?.example ?? {}) as object)) terms.add(name)
  for (const { line, isCommon } of listOperationErrors(operation, contract))
    if (!isCommon) terms.add(codeOfLine(line) ?? '')
  return [...terms].join(' ')
}
