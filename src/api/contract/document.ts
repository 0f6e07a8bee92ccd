import { createDocument, type oas31, type ZodOpenApiOverrideContext, type ZodOpenApiPathsObject } from 'zod-openapi'
import type { Route } from '../route.ts'
import { describeFields } from './describe.ts'
import { INTRODUCTION } from './introduction.ts'
import { operationOf, templateOf } from './operation.ts'
import { tagOf } from './tags.ts'

/** Of the contract, not of the program: the first number is the path's `v1`, the second grows with what is added. */
const VERSION = '1.0.0'

/** The contract of API v1 as an OpenAPI 3.1 document, made from the schemas that validate. */
export function contractOf(routes: readonly Route[]): oas31.OpenAPIObject {
  const document = createDocument(
    {
      openapi: '3.1.1',
      info: { title: 'Tillbook: API de integração', version: VERSION, description: INTRODUCTION },
      servers: [{ url: '/api/v1' }],
      tags: [...new Set(routes.map(({ path }) => tagOf(path)))].map((tag) => ({ ...tag })),
      paths: pathsOf(routes),
      components: {
        securitySchemes: {
          apiKey: {
            type: 'http',
            scheme: 'bearer',
            description: 'A chave de API da empresa (`tb_live_…`), com os escopos marcados na criação. Nunca na URL.',
          },
        },
      },
    },
    { override: leaveAnswersOpen },
  )
  describeFields(document)
  return document
}

function pathsOf(routes: readonly Route[]): ZodOpenApiPathsObject {
  const paths: ZodOpenApiPathsObject = {}
  for (const route of routes) {
    const path = templateOf(route.path)
    paths[path] = { ...paths[path], [route.method]: operationOf(route) }
  }
  return paths
}

/** v1 grows: a client must not refuse an answer for a field that it does not know. Requests are as strict as the service. */
function leaveAnswersOpen({ jsonSchema, io }: ZodOpenApiOverrideContext): void {
  if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
}
