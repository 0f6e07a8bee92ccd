import { curlOf } from './curl.ts'
import { DocsLinks, frame } from './frame.tsx'
import { DocsBadge, Json, OperationSection } from './operation.tsx'
import { anchorOf, FieldTable } from './schema.tsx'
import { pathOf, type Resource } from './site.ts'

/** Page of a resource: its operations, and the objects that they refer to. */
export const resourcePage = (publicUrl: string, resource: Resource): string =>
  frame({
    title: resource.name,
    about: <DocsLinks />,
    menu: <Menu resource={resource} />,
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
              address={pathOf(resource, found.path)}
              curl={curlOf(publicUrl, resource, found)}
            />
          ))}
        </section>
        <section id="objetos">
          <h2>Objetos</h2>
          {resource.objects.map(([name, schema]) => (
            <article key={name} id={anchorOf(name)}>
              <h3>{name}</h3>
              <FieldTable schema={schema} />
              <Json value={schema.examples?.[0]} />
            </article>
          ))}
        </section>
      </>
    ),
  })

const Menu = ({ resource: { operations } }: { readonly resource: Resource }) => (
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
