import type { oas31 } from 'zod-openapi'
import { withEmptyText } from '../request.ts'

/**
 * What generators of clients need of a document, and validators do not: nullable values in a form that all of them
 * know, sizes of integers, and a name for each body.
 */

type Schema = oas31.SchemaObject
type Schemas = Record<string, Schema>

/** Members with values instead of schemas. */
export const VALUES = new Set(['example', 'examples', 'default', 'enum', 'const'])

/** Copy of a part of the document, with each schema in the form for generators. */
export function fitSchemas<T>(node: T): T {
  if (Array.isArray(node)) return node.map(fitSchemas) as T
  if (typeof node !== 'object' || node === null) return node
  const copy = Object.fromEntries(
    Object.entries(node).map(([member, value]) => [member, VALUES.has(member) ? value : fitSchemas(value)]),
  )
  // `contentEncoding` says it; Kiota warns of the format.
  if (copy.format === 'base64') delete copy.format
  return sizedInteger(nullable(copy)) as T
}

/** `anyOf` with null breaks generated clients (NSwag): a list of types, or `oneOf` where X is no plain type. */
function nullable(schema: Schema): Schema {
  const { anyOf, ...rest } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return schema
  const [value, none] = anyOf as [Schema, Schema]
  if (none.type !== 'null') return schema
  const isPlain =
    typeof value.type === 'string' && value.type !== 'object' && value.enum === undefined && value.const === undefined
  return isPlain
    ? { ...value, ...rest, type: [value.type as 'string', 'null'] }
    : { ...rest, oneOf: [value, { type: 'null' }] }
}

const INT32 = { low: -(2 ** 31), high: 2 ** 31 - 1 }

/** Generators take an integer without a format for one of 32 bits, which ids and revisions exceed. */
function sizedInteger(schema: Schema): Schema {
  if (![schema.type].flat().includes('integer') || schema.format !== undefined) return schema
  const { exclusiveMinimum, ...rest } = schema
  const minimum = typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : schema.minimum
  const isSmall = (minimum ?? -Infinity) >= INT32.low && (schema.maximum ?? Infinity) <= INT32.high
  return { ...rest, ...(minimum !== undefined && { minimum }), format: isSmall ? 'int32' : 'int64' }
}

/** Prefix of a reference to a component. */
export const REF = '#/components/schemas/'

/** Operations and webhooks of a document. */
function operationsIn({ paths, webhooks }: oas31.OpenAPIObject): oas31.OperationObject[] {
  const items = [...Object.values(paths ?? {}), ...Object.values(webhooks ?? {})]
  return items.flatMap((item) => Object.values(item as Record<string, oas31.OperationObject>))
}

/**
 * Moves the body of each request and of each success to the components: generators name the types of other bodies by
 * their position, and each operation then has types of its own.
 */
export function nameBodies(document: oas31.OpenAPIObject): void {
  const schemas = { ...document.components?.schemas } as Schemas
  const named = (schema: Schema, names: readonly string[]): Schema => {
    if (schema.$ref !== undefined) return schema
    const text = JSON.stringify(schema)
    const name = names.find((one) => schemas[one] === undefined || JSON.stringify(schemas[one]) === text)
    if (name === undefined) throw new Error(`contract: ${names.join(' and ')} name other schemas already`)
    schemas[name] = schema
    return { $ref: `${REF}${name}` }
  }
  for (const { operationId = '', requestBody, responses } of operationsIn(document)) {
    const prefix = pascalCase(operationId.replace(/^on_/, ''))
    const kind = operationId.startsWith('on_') ? 'Message' : 'Input'
    for (const content of contentsOf(requestBody)) content.schema = named(content.schema as Schema, [prefix + kind])
    for (const [status, response] of Object.entries(responses ?? {})) {
      if (status >= '300') continue
      for (const content of contentsOf(response)) {
        const schema = content.schema as Schema
        content.schema = named(schema, [...answerNames(schema), `${prefix}Response`])
      }
    }
  }
  document.components = { ...document.components, schemas }
}

/** Names of the components that bodies of requests refer to, also indirectly. */
export function componentsOfRequests({ paths, components }: oas31.OpenAPIObject): ReadonlySet<string> {
  const found = new Set<string>()
  const collect = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const name = '$ref' in node ? String(node.$ref).slice(REF.length) : ''
    if (name !== '' && !found.has(name)) {
      found.add(name)
      collect(components?.schemas?.[name])
    }
    for (const value of Object.values(node)) collect(value)
  }
  for (const { requestBody } of operationsIn({ paths } as oas31.OpenAPIObject)) collect(requestBody)
  return found
}

/** Lets the bodies of requests clear a field with an empty text. */
export function allowEmptyTexts(document: oas31.OpenAPIObject): void {
  const schemas = { ...document.components?.schemas } as Schemas
  for (const name of componentsOfRequests(document)) {
    const { properties, ...rest } = schemas[name] ?? {}
    if (!properties) continue
    const fields = Object.entries(properties as Schemas).map(([member, field]) => [member, withEmptyText(field)])
    schemas[name] = { ...rest, properties: Object.fromEntries(fields) }
  }
  document.components = { ...document.components, schemas }
}

/** Refuses an object without a name within a component: generators name its type by its position. */
export function assertNamed({ components }: oas31.OpenAPIObject): void {
  const visit = (node: unknown, place: string): void => {
    if (typeof node !== 'object' || node === null) return
    if ('properties' in node && place.includes('.') && !place.endsWith('.properties'))
      throw new Error(`contract: the object in ${place} has no name; give it a .meta({ id })`)
    for (const [member, value] of Object.entries(node)) if (!VALUES.has(member)) visit(value, `${place}.${member}`)
  }
  for (const [name, schema] of Object.entries(components?.schemas ?? {})) visit(schema, name)
}

/** Whether a component is the body of an answer or a webhook: an envelope of a record, not a record. */
export const isEnvelope = (name: string): boolean => /(?:Response|Page|List|BatchResult|Message)$/.test(name)

const contentsOf = (part: unknown): oas31.MediaTypeObject[] =>
  Object.values((part as oas31.RequestBodyObject | undefined)?.content ?? {}) as oas31.MediaTypeObject[]

/** `customer_created` and `createCustomer` to `CustomerCreated` and `CreateCustomer`. */
const pascalCase = (id: string): string => id.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Names of an envelope by its record: the same for all operations that answer with it. */
function answerNames({ properties = {} }: Schema): string[] {
  const { data, meta } = properties as Record<'data' | 'meta', Schema | undefined>
  const record = (data?.$ref ?? (data?.items as Schema | undefined)?.$ref)?.slice(REF.length)
  if (record === undefined) return []
  if (data?.type !== 'array') return [meta ? `${record}WarnedResponse` : `${record}Response`]
  if (!meta) return [`${record}List`]
  return [meta.$ref === `${REF}PageMeta` ? `${record}Page` : `${record}BatchResult`]
}
