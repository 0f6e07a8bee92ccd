import type { oas31 } from 'zod-openapi'
import { DocsLinks, frame } from './frame.tsx'
import { GUIDES, PORTUGUESE_GUIDES } from './guides.ts'
import { Code, Markdown, MarkdownLine } from './markdown.tsx'
import { codeOfLine, DocsBadge, type DocumentedOperation, errorsOf } from './operation.tsx'
import { pathOf, type Resource, type Site } from './site.ts'

/** The first page: addresses, conventions, guides, and all operations, with a search. */
export const docsPage = (site: Site): string =>
  frame({
    title: 'Documentação da API',
    about: <DocsLinks />,
    script: '/docs/busca.js',
    menu: <Menu resources={site.resources} />,
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

const Menu = ({ resources }: { readonly resources: readonly Resource[] }) => (
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
          <code>{pathOf(resource, documented.path)}</code>
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
      for (const { status, line } of errorsOf(operation, contract)) if (codeOfLine(line)) lines.set(line, status)
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
  for (const { line, isCommon } of errorsOf(operation, contract)) if (!isCommon) terms.add(codeOfLine(line) ?? '')
  return [...terms].join(' ')
}
