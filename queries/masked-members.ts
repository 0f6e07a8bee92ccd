import { MASKED } from '#domain/personal-data.ts'
import type { RecordKind } from '#domain/record-kinds.ts'
import { groupBy } from '#lib/group-by.ts'
import { PERSONAL_MEMBERS } from '#projections/personal-members.ts'

type Path = readonly string[]

const TEXT = `to_jsonb('${MASKED}'::text)`
/** An address is shown as one object. */
const ADDRESS = `jsonb_build_object('street', '${MASKED}')`

/** SQL of a JSON object with a member masked if it is present and not empty. */
const maskedMember = (json: string, member: string): string =>
  `${json} || case when coalesce(${json} ->> '${member}', '') = '' then '{}'
     else jsonb_build_object('${member}', ${member === 'address' ? ADDRESS : TEXT}) end`

/** SQL of a JSON object with a nested object replaced; unchanged if the member is no object. */
const within = (json: string, member: string, inner: (json: string) => string): string =>
  `case when jsonb_typeof(${json} -> '${member}') = 'object'
     then jsonb_set(${json}, '{${member}}', ${inner(`(${json} -> '${member}')`)}) else ${json} end`

/** SQL of a JSON object with each element of a list replaced. */
const withinList = (json: string, member: string, inner: (json: string) => string): string =>
  `jsonb_set(${json}, '{${member}}', coalesce((select jsonb_agg(${inner('each.value')} order by each.place)
     from jsonb_array_elements(${json} -> '${member}') with ordinality as each (value, place)), '[]'))`

/** SQL of a JSON object with the members at these paths masked. Each step is a SELECT of `d` from the previous one. */
function maskedJson(json: string, paths: readonly Path[]): string {
  const steps = [...groupBy(paths, ([name]) => name as string)].map(([name, group]) => (d: string) => {
    const inner = group.map((path) => path.slice(1))
    if (inner.every(([first]) => first === undefined)) return maskedMember(d, name)
    if (inner.every(([first]) => first !== '*')) return within(d, name, (object) => maskedJson(object, inner))
    return withinList(d, name, (element) =>
      maskedJson(
        element,
        inner.map((path) => path.slice(1)),
      ),
    )
  })
  return steps.reduce((from, step) => `(select ${step('d')} as d from ${from} x)`, `(select ${json} as d)`)
}

/** SQL of a kind's record `t.doc` without what its events mark as personal. */
export const maskedRecord = (kind: RecordKind): string =>
  maskedJson(
    't.doc::jsonb',
    (PERSONAL_MEMBERS.get(kind) ?? []).map(({ path }) => path),
  )

/** A member in a record's JSON text: inside a string its quotes would be escaped. */
const COST = /"cost"\s*:\s*"[^"]*"/g

/** The value with all costs replaced by null, in JSON texts too. */
export function maskCosts<T>(value: T): T {
  if (typeof value === 'string') return (/^[{[]/.test(value) ? value.replace(COST, '"cost":null') : value) as T
  if (Array.isArray(value)) return value.map(maskCosts) as T
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype) return value
  const members = Object.entries(value).map(([name, inner]) => [name, name === 'cost' ? null : maskCosts(inner)])
  return Object.fromEntries(members) as T
}
