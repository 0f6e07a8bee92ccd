import { z } from 'zod'
import type { PersonalField } from '#ledger/personal-fields.ts'
import type { EventType, PersonalMark } from './define.ts'

/** Subset of JSON schema that locates marked fields. */
interface Schema {
  readonly personal?: PersonalMark
  readonly properties?: Readonly<Record<string, Schema>>
  readonly anyOf?: readonly Schema[]
}

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
      versions = found ? [...found.former, found].map(({ data }) => compile(data)) : []
      compiled.set(type, versions)
    }
    return versions[version - 1] ?? NONE
  }
}

const NONE: readonly PersonalField[] = []

const compile = (data: z.ZodType): readonly PersonalField[] => fieldsIn(z.toJSONSchema(data) as Schema, [])

function fieldsIn({ properties = {}, anyOf = [] }: Schema, path: readonly string[]): PersonalField[] {
  const members = Object.entries(properties).flatMap(([name, member]) =>
    member.personal ? [{ path: [...path, name], ...member.personal }] : fieldsIn(member, [...path, name]),
  )
  return [...members, ...anyOf.flatMap((schema) => fieldsIn(schema, path))]
}
