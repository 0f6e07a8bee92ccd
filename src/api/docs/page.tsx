import type { oas31 } from 'zod-openapi'
import { isEnvelope } from '../contract/generators.ts'
import { frame } from './frame.tsx'
import { Markdown } from './markdown.tsx'
import { DocsBadge, type DocumentedOperation, OperationSection, operationsOf } from './operation.tsx'
import { anchorOf, FieldTable, type Schema } from './schema.tsx'

/** The contract as one page: no scripts, no external resources. */
export const docsPage = (contract: oas31.OpenAPIObject): string => {
  const { title, version, description = '' } = contract.info
  const groups = groupsOf(contract)
  return frame({
    title,
    about: (
      <>
        versão {version} · <a href="/docs/webhooks">Webhooks</a> · <a href="/api/v1/openapi.json">OpenAPI 3.1</a>
      </>
    ),
    menu: <Menu groups={groups} />,
    body: (
      <>
        <section id="convencoes">
          <h2>Convenções</h2>
          <Markdown text={description} />
        </section>
        {groups.map(({ name, about, operations }) => (
          <section key={name}>
            <h2>{name}</h2>
            <p>{about}</p>
            {operations.map((found) => (
              <OperationSection key={found.operation.operationId} found={found} contract={contract} />
            ))}
          </section>
        ))}
        <Objects contract={contract} />
      </>
    ),
  })
}

interface Group {
  readonly name: string
  readonly about: string | undefined
  readonly operations: readonly DocumentedOperation[]
}

function groupsOf(contract: oas31.OpenAPIObject): Group[] {
  const operations = operationsOf(contract)
  return (contract.tags ?? []).map(({ name, description }) => ({
    name,
    about: description,
    operations: operations.filter(({ operation }) => operation.tags?.includes(name)),
  }))
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
                <DocsBadge method={method} /> {operation.summary}
              </a>
            </li>
          ))}
        </ul>
      </details>
    ))}
    <p>
      <a href="/docs/webhooks">Eventos de webhooks</a>
    </p>
    <p>
      <a href="#objetos">Objetos</a>
    </p>
  </nav>
)

/** Excludes errors and envelopes of records, which are explained with their operations. */
function Objects({ contract }: { readonly contract: oas31.OpenAPIObject }) {
  const schemas = Object.entries((contract.components?.schemas ?? {}) as Record<string, Schema>)
  return (
    <section id="objetos">
      <h2>Objetos</h2>
      {schemas
        .filter(([name]) => !name.startsWith('Error_') && !isEnvelope(name))
        .map(([name, schema]) => (
          <article key={name} id={anchorOf(name)}>
            <h3>{name}</h3>
            <FieldTable schema={schema} />
          </article>
        ))}
    </section>
  )
}
