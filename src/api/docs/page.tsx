import { renderToString } from 'preact-render-to-string'
import type { oas31 } from 'zod-openapi'
import { Markdown } from './markdown.tsx'
import { Badge, type Found, Operation, operationsOf, Parameters, WebhookOperation, webhooksOf } from './operation.tsx'
import { anchorOf, FieldTable, type Schema } from './schema.tsx'

/** The contract as one page for a person to read: no script, nothing from elsewhere. */
export const docsPage = (contract: oas31.OpenAPIObject): string =>
  `<!doctype html>\n${renderToString(<Page contract={contract} />)}\n`

interface Group {
  readonly name: string
  readonly about: string | undefined
  readonly operations: readonly Found[]
}

function groupsOf(contract: oas31.OpenAPIObject): Group[] {
  const operations = operationsOf(contract)
  return (contract.tags ?? []).map(({ name, description }) => ({
    name,
    about: description,
    operations: operations.filter(({ operation }) => operation.tags?.includes(name)),
  }))
}

function Page({ contract }: { readonly contract: oas31.OpenAPIObject }) {
  const { title, version, description = '' } = contract.info
  const groups = groupsOf(contract)
  return (
    <html lang="pt-BR">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>{title}</title>
        <link rel="stylesheet" href="/docs/style.css" />
      </head>
      <body>
        <a class="skip" href="#conteudo">
          Ir para o conteúdo
        </a>
        <header>
          <h1>{title}</h1>
          <p>
            versão {version} · <a href="/api/v1/openapi.json">OpenAPI 3.1</a>
          </p>
        </header>
        <Menu groups={groups} />
        <main id="conteudo">
          <section id="convencoes">
            <h2>Convenções</h2>
            <Markdown text={description} />
          </section>
          {groups.map(({ name, about, operations }) => (
            <section key={name}>
              <h2>{name}</h2>
              <p>{about}</p>
              {operations.map((found) => (
                <Operation key={found.operation.operationId} found={found} contract={contract} />
              ))}
            </section>
          ))}
          <Webhooks contract={contract} />
          <Objects contract={contract} />
        </main>
      </body>
    </html>
  )
}

const Menu = ({ groups }: { readonly groups: readonly Group[] }) => (
  <nav aria-label="Operações">
    <p>
      <a href="#convencoes">Convenções</a>
    </p>
    {groups.map(({ name, operations }) => (
      <details key={name} open>
        <summary>{name}</summary>
        <ul>
          {operations.map(({ method, operation }) => (
            <li key={operation.operationId}>
              <a href={`#${operation.operationId}`}>
                <Badge method={method} /> {operation.summary}
              </a>
            </li>
          ))}
        </ul>
      </details>
    ))}
    <p>
      <a href="#eventos">Eventos de webhooks</a>
    </p>
    <p>
      <a href="#objetos">Objetos</a>
    </p>
  </nav>
)

/** Their headers once: they differ in the event's name only. */
function Webhooks({ contract }: { readonly contract: oas31.OpenAPIObject }) {
  const events = webhooksOf(contract)
  return (
    <section id="eventos">
      <h2>Eventos de webhooks</h2>
      <p>
        Cada evento é um POST ao endereço registrado, com o corpo <code>event</code>, <code>occurred_at</code>,{' '}
        <code>origin</code> e <code>data</code>, e estes cabeçalhos:
      </p>
      <Parameters heading="h3" parameters={(events[0]?.operation.parameters ?? []) as oas31.ParameterObject[]} />
      {events.map(({ name, operation }) => (
        <WebhookOperation key={name} name={name} operation={operation} />
      ))}
    </section>
  )
}

/** Without those of errors, which are explained where they can happen. */
function Objects({ contract }: { readonly contract: oas31.OpenAPIObject }) {
  const schemas = Object.entries((contract.components?.schemas ?? {}) as Record<string, Schema>)
  return (
    <section id="objetos">
      <h2>Objetos</h2>
      {schemas
        .filter(([name]) => !name.startsWith('Error_'))
        .map(([name, schema]) => (
          <article key={name} id={anchorOf(name)}>
            <h3>{name}</h3>
            <FieldTable schema={schema} />
          </article>
        ))}
    </section>
  )
}
