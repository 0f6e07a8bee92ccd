import * as z from 'zod'
import type { PersonalField } from '#ledger/personal-fields.ts'
import type { EventType, PersonalMark } from './define.ts'

/** Returns the personal fields of an event by type and version; none for unknown types. */
export function personalFieldsOf(
  types: Readonly<Record<string, EventType<unknown>>>,
): (event: { readonly type: string; readonly version: number }) => readonly PersonalField[] {
  const known = new Map(Object.entries(types))
  /** By type, then by version; filled on first use. */
  const compiled = new Map<string, (readonly PersonalField[])[]>()
  return ({ type, version }) => {
    let versions = compiled.get(type)
    if (!versions) {
      const found = known.get(type)
      versions = found ? [...found.former, found].map(({ data }) => fieldsIn(data, [])) : []
      compiled.set(type, versions)
    }
    return versions[version - 1] ?? NONE
  }
}

const NONE: readonly PersonalField[] = []

/** Marked fields of a shape; never in lists (LEDGER-5). */
function fieldsIn(schema: z.core.$ZodType, path: readonly string[]): PersonalField[] {
  const { personal } = (z.globalRegistry.get(schema) ?? {}) as { readonly personal?: PersonalMark }
  if (personal) return [{ path, ...personal }]
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return fieldsIn(schema.unwrap(), path)
  if (!(schema instanceof z.ZodObject)) return []
  return Object.entries(schema.shape).flatMap(([name, member]) => fieldsIn(member as z.core.$ZodType, [...path, name]))
}
