import type { oas31 } from 'zod-openapi'
import { nameOfRef, type Schema } from './schema-view.ts'

/** An example of what a schema describes, from the examples of the objects in it; undefined where it has none. */
export function exampleOf(schema: Schema, document: oas31.OpenAPIObject): unknown {
  if (schema.examples) return schema.examples[0]
  if (schema.$ref) return exampleOf(document.components?.schemas?.[nameOfRef(schema.$ref)] as Schema, document)
  if (schema.type === 'array') {
    const item = exampleOf(schema.items as Schema, document)
    return item === undefined ? undefined : [item]
  }
  if (!schema.properties) return undefined
  const fields = Object.entries(schema.properties as Record<string, Schema>)
  const examples = fields.map(([name, field]) => [name, exampleOf(field, document)])
  return examples.some(([, example]) => example === undefined) ? undefined : Object.fromEntries(examples)
}
