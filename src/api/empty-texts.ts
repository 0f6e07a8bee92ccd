import * as z from 'zod'
import type { oas31 } from 'zod-openapi'

/**
 * In a body, `""` means the same as null: some generated clients cannot send null, and ERPs send `""` for a field without
 * a value. It applies to every text that may be null, at any depth (VAL-840).
 */

type Schema = oas31.SchemaObject

/** Members of an object whose empty text is null, and those with such members inside. */
interface Clearables {
  readonly texts: ReadonlySet<string>
  readonly inner: ReadonlyMap<string, Clearables>
}

const known = new WeakMap<z.ZodType, Clearables | null>()

/** The body with null for each empty text that clears a field; the body itself if there is none. */
export function withoutEmptyTexts(schema: z.ZodType, body: unknown): unknown {
  let clearables = known.get(schema)
  if (clearables === undefined) {
    clearables = clearablesOf(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as Schema)
    known.set(schema, clearables)
  }
  return clearables ? cleared(body, clearables) : body
}

function cleared(value: unknown, clearables: Clearables): unknown {
  if (Array.isArray(value)) {
    const items = value.map((item) => cleared(item, clearables))
    return items.some((item, n) => item !== value[n]) ? items : value
  }
  if (typeof value !== 'object' || value === null) return value
  const { texts, inner } = clearables
  const members = value as Readonly<Record<string, unknown>>
  const changes: Record<string, unknown> = {}
  for (const name of texts) if (Object.hasOwn(members, name) && members[name] === '') changes[name] = null
  for (const [name, within] of inner) {
    if (!Object.hasOwn(members, name)) continue
    const found = cleared(members[name], within)
    if (found !== members[name]) changes[name] = found
  }
  return Object.keys(changes).length > 0 ? { ...members, ...changes } : value
}

/** From the JSON schema of a body; null if it has no such text. */
function clearablesOf(root: Schema): Clearables | null {
  const definitions = (root as { $defs?: Record<string, Schema> }).$defs ?? {}
  const resolved = (schema: Schema): Schema =>
    schema.$ref === undefined ? schema : resolved(definitions[schema.$ref.slice('#/$defs/'.length)] ?? {})
  const objectsIn = (schema: Schema): Schema[] => {
    const { properties, items, ...rest } = resolved(schema)
    if (properties) return [{ properties }]
    if (items) return objectsIn(items as Schema)
    return alternativesOf(rest).flatMap(objectsIn)
  }
  const of = (schemas: readonly Schema[]): Clearables | null => {
    const texts = new Set<string>()
    const inner = new Map<string, Clearables>()
    for (const { properties = {} } of schemas)
      for (const [name, field] of Object.entries(properties as Record<string, Schema>)) {
        if (isText(field, resolved)) texts.add(name)
        const within = of(objectsIn(field))
        if (within) inner.set(name, within)
      }
    return texts.size > 0 || inner.size > 0 ? { texts, inner } : null
  }
  return of(objectsIn(root))
}

const alternativesOf = ({ anyOf, oneOf }: Schema): Schema[] => ((anyOf ?? oneOf) as Schema[] | undefined) ?? []

/** Whether a field takes texts and null. */
function isText(field: Schema, resolved: (schema: Schema) => Schema): boolean {
  const types = new Set<unknown>()
  const collect = (schema: Schema): void => {
    const shown = resolved(schema)
    for (const type of [shown.type].flat()) types.add(type)
    alternativesOf(shown).forEach(collect)
  }
  collect(field)
  return types.has('string') && types.has('null')
}

/** A field of a request in a contract, which takes the empty text too if it may be null. */
export function withEmptyText(field: Schema): Schema {
  if (!isText(field, (schema) => schema)) return field
  const { pattern, minLength, format, oneOf, ...rest } = field
  const shape = {
    ...rest,
    ...(oneOf && { oneOf: (oneOf as Schema[]).map(withEmptyValue) }),
    ...(pattern !== undefined && { pattern: `^$|${pattern}` }),
    // Generators make types of these formats, which have no empty value.
    ...(format?.startsWith('date') && { format }),
  }
  return minLength ? { ...shape, minLength: 0 } : shape
}

const withEmptyValue = (schema: Schema): Schema => (schema.enum ? { ...schema, enum: [...schema.enum, ''] } : schema)
