import express, { type RequestHandler, type Router } from 'express'
import type { oas31 } from 'zod-openapi'
import type { AddressLimit } from '#access/login-limits.ts'
import { type Compress, createFixedAnswer } from '#http/answers.ts'
import { limitUnauthenticatedBy, publicDocument } from '#http/edge.ts'
import { guidePage, guidesPage, type ReferencePage, referencePage } from './docs-guides.tsx'
import {
  bodyExample,
  composeExample,
  type DocumentedOperation,
  parameterExample,
  type Schema,
} from './docs-operation.tsx'
import {
  createSite,
  docsPage,
  operationPath,
  type PublishedContract,
  type Resource,
  resourcePage,
  type Site,
} from './docs-page.tsx'
import { webhooksPage } from './docs-webhooks.tsx'
import { guidesIn } from './guides.tsx'

/** Style sheet of the pages; colours follow the system's colour scheme. */
const STYLE = `
:root {
  color-scheme: light dark;
  --text: light-dark(#1d2430, #dfe4ea);
  --soft: light-dark(#5b6675, #9aa5b1);
  --line: light-dark(#dde2e8, #323a45);
  --back: light-dark(#ffffff, #14181e);
  --panel: light-dark(#f5f7f9, #1b2027);
  --link: light-dark(#0b57b0, #7fb4f5);
}
* { box-sizing: border-box }
html { scroll-padding-top: 1rem }
body {
  margin: 0; color: var(--text); background: var(--back);
  font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif;
  display: grid; grid-template-columns: 19rem minmax(0, 1fr); grid-template-areas: 'header header' 'nav main';
}
header { grid-area: header; padding: 1.25rem 2rem; border-bottom: 1px solid var(--line) }
header h1 { margin: 0; font-size: 1.4rem }
header p { margin: 0; color: var(--soft) }
nav {
  grid-area: nav; position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1rem;
  border-right: 1px solid var(--line); background: var(--panel); font-size: .875rem;
}
nav p, nav details { margin: 0 0 .6rem }
nav summary { cursor: pointer; font-weight: 600 }
nav ul { list-style: none; margin: .2rem 0 0; padding: 0 }
nav li a { display: flex; gap: .4rem; align-items: baseline; padding: .15rem .25rem; border-radius: 4px; color: inherit; text-decoration: none }
nav li a:hover, nav li a:focus-visible { background: var(--line) }
main { grid-area: main; max-width: 60rem; padding: 1rem 2rem 6rem }
a { color: var(--link) }
h2 { margin: 2.5rem 0 .5rem; font-size: 1.5rem }
section:first-child h2 { margin-top: .5rem }
article { margin: 1.5rem 0; padding: 1.25rem 0 0; border-top: 1px solid var(--line) }
article h3 { margin: 0 0 .3rem; font-size: 1.15rem }
article h4 { margin: 1.2rem 0 .3rem; font-size: .95rem }
.address { margin: 0 0 .6rem }
.method {
  display: inline-block; flex: none; min-width: 4.6em; padding: 0 .35em; border-radius: 4px; text-align: center;
  font: 600 .75em/1.6 ui-monospace, monospace; color: #fff; background: #4a5563;
}
.method.get { background: #1f6f43 }
.method.post { background: #0b57b0 }
.method.put { background: #8a5a00 }
.method.patch { background: #6b3fa0 }
.method.delete { background: #a32020 }
code { font: .9em ui-monospace, 'SF Mono', Menlo, Consolas, monospace; background: var(--panel); padding: .05em .25em; border-radius: 3px }
p code, li code, td:last-child code { overflow-wrap: anywhere }
pre { overflow-x: auto; padding: .8rem 1rem; border: 1px solid var(--line); border-radius: 6px; background: var(--panel); line-height: 1.4 }
pre code { background: none; padding: 0 }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .9rem; margin: .3rem 0 }
th, td { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line) }
th { color: var(--soft); font-weight: 600 }
td:first-child { white-space: nowrap }
.note { color: light-dark(#a32020, #f08a8a); font-size: .8em }
.limits { color: var(--soft); font-size: .9em }
main details { margin-top: 1rem }
main summary { cursor: pointer; font-weight: 600; font-size: .95rem }
:target { scroll-margin-top: 1rem }
article:target h3 { text-decoration: underline; text-underline-offset: .3em }
.skip { position: absolute; left: -999rem }
.skip:focus { left: 1rem; top: 1rem; background: var(--back); padding: .5rem }
.search input { font: inherit; width: 100%; max-width: 30rem; padding: .4rem .6rem; border: 1px solid var(--soft); border-radius: 6px; color: inherit; background: var(--back) }
.search label { display: block; color: var(--soft) }
.operations { padding: 0; list-style: none }
.operations a { text-decoration: none }
.operations li { padding: .15rem 0 }
[hidden] { display: none }
@media (min-width: 52rem) { td:nth-child(2) { min-width: 7em } }
@media (max-width: 52rem) {
  .note { display: block }
  h2 { overflow-wrap: anywhere }
  td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 7em }
  body { display: block }
  nav { position: static; height: auto; max-height: 40vh; border-right: 0; border-bottom: 1px solid var(--line) }
  main, header { padding-left: 1rem; padding-right: 1rem }
}
@media print { nav, .skip { display: none } body { display: block } }
`

/** Filters the list of operations and guides of `/docs` while one types. Without scripts the whole list is shown. */
const SEARCH = `'use strict'
const plain = (text) => text.normalize('NFD').replace(/\\p{M}/gu, '').toLowerCase()
const form = document.getElementById('busca')
const field = form.querySelector('input')
const found = form.querySelector('output')
const groups = [...document.querySelectorAll('[data-grupo]')].map((group) => ({
  group,
  entries: [...group.querySelectorAll('li')].map((entry) => ({
    entry,
    text: plain(entry.textContent + ' ' + (entry.dataset.termos ?? '')),
  })),
}))
const filter = () => {
  const words = plain(field.value).split(/\\s+/).filter(Boolean)
  let count = 0
  for (const { group, entries } of groups) {
    let some = 0
    for (const { entry, text } of entries) {
      entry.hidden = !words.every((word) => text.includes(word))
      if (!entry.hidden) some += 1
    }
    group.hidden = some === 0
    count += some
  }
  found.value = words.length === 0 ? '' : count === 0 ? 'Nada encontrado.' : count + (count === 1 ? ' resultado' : ' resultados')
}
field.addEventListener('input', filter)
form.hidden = false
filter()
`

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json'

/** Variables of the collection that hold credentials. */
const VARIABLES = { KEY: 'token', TOKEN: 'till_token' } as const

const bearer = (variable: string) => ({
  type: 'bearer',
  bearer: [{ key: 'token', value: `{{${variable}}}`, type: 'string' }],
})

/** Postman collection (v2.1) of all operations; each request has its example, and the example of its answer. */
export const toPostman = ({ publicUrl, resources }: Site): object => ({
  info: {
    name: 'Tillbook',
    description:
      'Gerada dos contratos OpenAPI. Preencha `base_url` e `token` (a chave de API). O login dos caixas preenche `till_token`.',
    schema: SCHEMA,
  },
  auth: bearer('token'),
  variable: [
    { key: 'base_url', value: publicUrl, type: 'string' },
    { key: 'token', value: '', type: 'string' },
    { key: 'till_token', value: '', type: 'string' },
  ],
  item: resources.map((resource) => ({
    name: resource.name,
    description: resource.about,
    auth: bearer(VARIABLES[resource.credential]),
    item: resource.operations.map((documented) => itemOf(resource, documented)),
  })),
})

function itemOf(resource: Resource, documented: DocumentedOperation) {
  const request = requestOf(resource, documented)
  const { operation } = documented
  return {
    name: operation.summary,
    ...(operation.operationId === 'login' && { event: [REMEMBER_TOKEN] }),
    request,
    response: responsesOf(resource, operation).map((response) => ({ ...response, originalRequest: request })),
  }
}

const REMEMBER_TOKEN = {
  listen: 'test',
  script: {
    type: 'text/javascript',
    exec: ['if (pm.response.code === 200) pm.collectionVariables.set("till_token", pm.response.json().data.token)'],
  },
}

function requestOf(resource: Resource, { method, path, operation }: DocumentedOperation) {
  const parameters = (operation.parameters ?? []) as oas31.ParameterObject[]
  const body = bodyExample(operation)
  return {
    method: method.toUpperCase(),
    ...(operation.security?.length === 0 && { auth: { type: 'noauth' } }),
    header: [
      ...parameters.filter((each) => each.in === 'header').map(headerOf),
      ...(body === undefined ? [] : [{ key: 'Content-Type', value: 'application/json' }]),
    ],
    url: urlOf(operationPath(resource, path), parameters),
    ...(body !== undefined && {
      body: { mode: 'raw', raw: JSON.stringify(body, null, 2), options: { raw: { language: 'json' } } },
    }),
    description: operation.description ?? '',
  }
}

/** Optional headers are switched off; a key is a new one for each request. */
const headerOf = (parameter: oas31.ParameterObject) => ({
  key: parameter.name,
  value: parameter.name === 'Idempotency-Key' ? '{{$guid}}' : parameterExample(parameter),
  description: parameter.description ?? '',
  disabled: !parameter.required,
})

function urlOf(path: string, parameters: readonly oas31.ParameterObject[]) {
  const described = (place: string) =>
    parameters
      .filter((each) => each.in === place)
      .map((each) => ({ key: each.name, value: parameterExample(each), description: each.description ?? '' }))
  const query = described('query').map((each) => ({
    ...each,
    disabled: !parameters.some(({ name, required }) => name === each.key && required),
  }))
  const enabled = query
    .filter(({ disabled }) => !disabled)
    .map(({ key, value }) => `${key}=${encodeURIComponent(value)}`)
  const template = path.replace(/\{(\w+)\}/g, ':$1')
  return {
    raw: `{{base_url}}${template}${enabled.length > 0 ? `?${enabled.join('&')}` : ''}`,
    host: ['{{base_url}}'],
    path: template.slice(1).split('/'),
    query,
    variable: described('path'),
  }
}

/** Examples of the successes. */
function responsesOf({ contract }: Resource, { responses }: oas31.OperationObject) {
  return Object.entries((responses ?? {}) as Record<string, oas31.ResponseObject>).flatMap(([status, response]) => {
    const schema = response.content?.['application/json']?.schema as Schema | undefined
    const example = schema && status < '300' ? composeExample(schema, contract) : undefined
    if (example === undefined) return []
    return {
      name: `${status}`,
      code: Number(status),
      status: response.description,
      header: [{ key: 'Content-Type', value: 'application/json' }],
      _postman_previewlanguage: 'json',
      body: JSON.stringify(example, null, 2),
    }
  })
}

/** Allows only the pages' own style sheet and icon, and scripts where a page has one: no forms or frames. */
const policyOf = (scripts: string): string =>
  `default-src 'none'; ${scripts}style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const WITHOUT_SCRIPTS = policyOf('')
const WITH_OWN_SCRIPT = policyOf("script-src 'self'; ")

interface DocsOptions {
  readonly addresses: AddressLimit
  readonly compress: Compress
  readonly publicUrl: string
}

/** What the code says of itself: the contracts, and further pages. */
interface Published {
  readonly contracts: () => readonly PublishedContract[]
  readonly references: readonly ReferencePage[]
}

interface DocsFile {
  readonly make: () => string
  readonly type?: string
  readonly policy?: string
}

const CSS = 'text/css; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'

/** Every file of `/docs`, by path; the contracts are generated with the first page that needs them. */
function filesOf(site: () => Site, references: readonly ReferencePage[]): Readonly<Record<string, DocsFile>> {
  const languages = [
    ['/docs/guias', 'pt-BR'],
    ['/docs/guides', 'en'],
  ] as const
  return {
    '/docs': { make: () => docsPage(site()), policy: WITH_OWN_SCRIPT },
    '/docs/webhooks': { make: () => webhooksPage(site()) },
    '/docs/postman.json': { make: () => JSON.stringify(toPostman(site()), null, 1), type: JSON_TYPE },
    '/docs/style.css': { make: () => STYLE, type: CSS },
    '/docs/busca.js': { make: () => SEARCH, type: SCRIPT },
    ...Object.fromEntries(
      languages.flatMap(([folder, language]) => [
        [folder, { make: () => guidesPage(language) }],
        ...guidesIn(language).map((name) => [`${folder}/${name}`, { make: () => guidePage(name, language) }]),
      ]),
    ),
    ...Object.fromEntries(references.map((page) => [page.path, { make: () => referencePage(page) }])),
  }
}

/** `/docs`: contracts, guides and references for browsers, without authentication, limited by address. */
export function serveDocs({ contracts, references }: Published, options: DocsOptions): Router {
  const router = express.Router()
  let made: Site | undefined
  const site = (): Site => {
    made ??= createSite(options.publicUrl, contracts())
    return made
  }
  for (const [path, file] of Object.entries(filesOf(site, references)))
    router.all(path.slice('/docs'.length) || '/', answerWith(file, options))
  const pages = new Map<string, RequestHandler>()
  router.all('/recursos/:name', (request, response, next) => {
    const resource = site().resources.find(({ page }) => page === `/docs/recursos/${request.params.name}`)
    if (!resource) return next()
    const answer =
      pages.get(resource.page) ?? answerWith({ make: () => resourcePage(site().publicUrl, resource) }, options)
    pages.set(resource.page, answer)
    return answer(request, response, next)
  })
  return router
}

function answerWith(
  { make, type = 'text/html; charset=utf-8', policy = WITHOUT_SCRIPTS }: DocsFile,
  options: DocsOptions,
): RequestHandler {
  const send = createFixedAnswer(make, options.compress, type)
  const document = publicDocument(limitUnauthenticatedBy(options.addresses), (_request, response) => {
    response.setHeader('Vary', 'Accept-Encoding')
    // Browsers revalidate with the ETag.
    response.setHeader('Cache-Control', 'no-cache')
    return send(response)
  })
  return (request, response, next) => {
    response.setHeader('Content-Security-Policy', policy)
    return document(request, response, next)
  }
}
