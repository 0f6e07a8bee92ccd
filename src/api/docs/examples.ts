import type { oas31 } from 'zod-openapi'
import { nameOfRef, type Schema } from './schema.tsx'

/** The component of a reference, or the schema itself. */
export const resolved = (schema: Schema, { components }: oas31.OpenAPIObject): Schema =>
  schema.$ref ? (components?.schemas?.[nameOfRef(schema.$ref)] as Schema) : schema

/** Example of a schema, composed of the examples of its objects; undefined without any. */
export function exampleOf(schema: Schema, contract: oas31.OpenAPIObject): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.const !== undefined) return schema.const
  if (schema.$ref) return exampleOf(resolved(schema, contract), contract)
  if (schema.type === 'array') {
    const item = exampleOf(schema.items as Schema, contract)
    return item === undefined ? undefined : [item]
  }
  if (!schema.properties) return undefined
  const fields = Object.entries(schema.properties as Record<string, Schema>)
  const examples = fields.map(([name, field]) => [name, exampleOf(field, contract)])
  return examples.some(([, example]) => example === undefined) ? undefined : Object.fromEntries(examples)
}

const UUID = '01a1b2c3-7d5e-7f00-8a9b-0c1d2e3f4a5b'

/** Example of a parameter: its own, or a value of its type. */
export function parameterExample({ name, schema, example }: oas31.ParameterObject): string {
  const { examples, type, format, enum: values } = (schema ?? {}) as Schema
  const given = example ?? examples?.[0] ?? values?.[0]
  if (given !== undefined) return String(given)
  if (type === 'integer') return '1'
  if (format === 'uuid') return UUID
  return format === 'date-time' ? '2026-11-21T08:17:15-03:00' : (EXAMPLES[name] ?? '1')
}

const EXAMPLES: Readonly<Record<string, string>> = { external_id: 'CLI-001', store_alias: 'minha-loja' }

/** Example of a request body: `{}` where no field is needed; undefined if there is no body. */
export function bodyExample({ requestBody }: oas31.OperationObject): unknown {
  const content = (requestBody as oas31.RequestBodyObject | undefined)?.content['application/json']
  return content && (content.example ?? {})
}
