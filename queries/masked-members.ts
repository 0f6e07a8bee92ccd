import { MASKED } from '#domain/person-values.ts'
import type { RecordKind } from '#domain/record-values.ts'
import { groupBy } from '#lib/collections.ts'
import { PERSONAL_MEMBERS } from '#projections/personal-members.ts'

type Path = readonly string[]

/** An address is shown as one object. */
const shownFor = (member: string): string =>
  member === 'address' ? `jsonb_build_object('street', '${MASKED}')` : `to_jsonb('${MASKED}'::text)`

/**
 * SQL of a JSON object with the members at these paths masked; null and empty ones stay, and so does what is no object.
 * The fence (`offset 0`) keeps the planner from repeating the object's expression for each member, which would double
 * the work with every one.
 */
function maskedJson(json: string, paths: readonly Path[], depth = 0): string {
  const object = `m${depth}.d`
  const groups = [...groupBy(paths, ([name]) => name as string)].map(([name, group]) => {
    const inner = group.map((path) => path.slice(1))
    return { name, inner, isWhole: inner.every(([first]) => first === undefined) }
  })
  const whole = groups.flatMap(({ name, isWhole }) =>
    isWhole ? [`'${name}', case when ${object} ->> '${name}' <> '' then ${shownFor(name)} end`] : [],
  )
  const parts = [
    ...(whole.length > 0 ? [`jsonb_strip_nulls(jsonb_build_object(${whole.join(', ')}))`] : []),
    ...groups.flatMap(({ name, inner, isWhole }) => (isWhole ? [] : [maskedMember(object, name, inner, depth + 1)])),
  ]
  return `(select ${[object, ...parts].join(' || ')} from (select ${json} as d offset 0) m${depth})`
}

/** SQL of an object with a member of which a part is hidden, or a part of each element; without it if it has none. */
function maskedMember(object: string, name: string, inner: readonly Path[], depth: number): string {
  const value = `(${object} -> '${name}')`
  const replaced = (type: 'object' | 'array', sql: string) =>
    `case when jsonb_typeof${value} = '${type}' then jsonb_build_object('${name}', ${sql}) else '{}' end`
  if (inner.every(([first]) => first !== '*')) return replaced('object', maskedJson(value, inner, depth))
  const elements = inner.map((path) => path.slice(1))
  const element = `a${depth}.value`
  return replaced(
    'array',
    `coalesce((select jsonb_agg(case when jsonb_typeof(${element}) = 'object' then ${maskedJson(element, elements, depth)}
        else ${element} end order by a${depth}.place)
      from jsonb_array_elements${value} with ordinality as a${depth} (value, place)), '[]')`,
  )
}

/** SQL of a kind's record `t.doc` without what its events mark as personal. */
export const maskedRecord = (kind: RecordKind): string =>
  maskedJson(
    't.doc::jsonb',
    (PERSONAL_MEMBERS.get(kind) ?? []).map(({ path }) => path),
  )

/** Members with costs, of records and events. */
const COSTS = ['cost', 'unit_cost']
/** Such a member in a record's JSON text: inside a string its quotes would be escaped. */
const COST = /"(cost|unit_cost)"\s*:\s*(?:"[^"]*"|-?\d[\d.]*)/g

/** The value with all costs replaced by null, in JSON texts too. */
export function maskCosts<T>(value: T): T {
  if (typeof value === 'string') return (/^[{[]/.test(value) ? value.replace(COST, '"$1":null') : value) as T
  if (Array.isArray(value)) return value.map(maskCosts) as T
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).map(([name, inner]) => [name, COSTS.includes(name) ? null : maskCosts(inner)])
  return Object.fromEntries(members) as T
}
