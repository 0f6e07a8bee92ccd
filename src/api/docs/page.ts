import type { oas31 } from 'zod-openapi'
import { Html, html } from './html.ts'
import { markdown } from './markdown.ts'
import { badge, type Found, operationsOf, operationView } from './operation-view.ts'
import { anchorOf, fieldTable, type Schema } from './schema-view.ts'

type Document = oas31.OpenAPIObject

/** The contract as one page for a person to read: no script, nothing from elsewhere. */
export function docsPage(document: Document): string {
  const { title, version, description = '' } = document.info
  const groups = (document.tags ?? []).map((tag) => ({
    ...tag,
    operations: operationsOf(document).filter(({ operation }) => operation.tags?.includes(tag.name)),
  }))
  const objects = Object.entries((document.components?.schemas ?? {}) as Record<string, Schema>)
  const page = html`${new Html('<!doctype html>')}
<html lang="pt-BR">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="stylesheet" href="/docs/style.css">
</head>
<body>
<a class="skip" href="#conteudo">Ir para o conteúdo</a>
<header><h1>${title}</h1><p>versão ${version} · <a href="/api/v1/openapi.json">OpenAPI 3.1</a></p></header>
<nav aria-label="Operações">
<p><a href="#convencoes">Convenções</a></p>
${groups.map(({ name, operations }) => menu(name, operations))}
<p><a href="#objetos">Objetos</a></p>
</nav>
<main id="conteudo">
<section id="convencoes"><h2>Convenções</h2>${markdown(description)}</section>
${groups.map(
  ({ name, description: about, operations }) => html`<section><h2>${name}</h2><p>${about}</p>
${operations.map((found) => operationView(found, document))}</section>`,
)}
<section id="objetos"><h2>Objetos</h2>
${objects
  .filter(isRecord)
  .map(
    ([name, schema]) => html`<article id="${anchorOf(name)}"><h3>${name}</h3>${fieldTable(schema)}</article>`,
  )}</section>
</main>
</body>
</html>
`
  return page.text
}

/** Errors are explained where they can happen. */
const isRecord = ([name]: readonly [string, Schema]): boolean => !name.startsWith('Error_')

function menu(name: string, operations: readonly Found[]): Html {
  return html`<details open><summary>${name}</summary><ul>${operations.map(
    ({ method, operation }) =>
      html`<li><a href="#${operation.operationId}">${badge(method)} ${operation.summary}</a></li>`,
  )}</ul></details>`
}
