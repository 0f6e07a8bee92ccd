import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import type * as z from 'zod'
import { V1_ROUTES } from '#api/api-v1.ts'
import { CalendarDate, Instant } from '#domain/instant.ts'
import { Money } from '#domain/money.ts'
import { Quantity } from '#domain/quantity.ts'
import { boundedText, Email, ExternalId, limitedText, nameText, Phone } from '#domain/text.ts'
import { SYNC_OPERATIONS } from '#till-sync/till-operations.ts'
import { patternFaultsOf } from '../../tools/patterns.ts'

// biome-ignore lint/suspicious/noExplicitAny: schemas of all kinds
type Schema = any

/** Texts of a fixed form, which a pattern refuses at their first wrong character. */
const FIXED = new Set(['uuid', 'date', 'datetime'])

const isBound = ({ _zod: { def } }: Schema): boolean => def.check === 'max_length' && def.abort === true

/** Paths of texts that a pattern, a fold or a transform reads before their length is known. */
function unboundedTexts(schema: Schema, path: string, seen = new Set<Schema>()): string[] {
  const def = schema?._zod?.def
  if (!def || seen.has(schema)) return []
  seen.add(schema)
  const within = (inner: Schema, name = ''): string[] => unboundedTexts(inner, `${path}${name}`, seen)
  if (def.type === 'string') {
    const [first] = def.checks ?? []
    return FIXED.has(def.format) || first === undefined || isBound(first) || def.checks.every(isLength) ? [] : [path]
  }
  const read = def.type === 'pipe' && def.in._zod.def.type === 'string' && !(def.in._zod.def.checks ?? []).some(isBound)
  return [
    ...(read ? [path] : []),
    ...Object.entries(def.shape ?? {}).flatMap(([name, inner]) => within(inner, `.${name}`)),
    ...['element', 'keyType', 'valueType', 'innerType', 'in', 'out', 'left', 'right'].flatMap((name) =>
      within(def[name]),
    ),
    ...(def.options ?? []).flatMap((inner: Schema) => within(inner)),
    ...(def.type === 'lazy' ? within(def.getter()) : []),
  ]
}

const isLength = ({ _zod: { def } }: Schema): boolean => def.check === 'max_length' || def.check === 'min_length'

/** Exported schemas of a folder's modules; those of answers read nothing. */
async function exportedSchemas(folder: string): Promise<[string, Schema][]> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.tsx?$/.test(name))
  const found: [string, Schema][] = []
  for (const name of names.filter((each) => !each.startsWith('static'))) {
    const path = join(folder, name)
    const module = await import(`../../${path}`)
    for (const [key, value] of Object.entries<Schema>(module)) if (value?._zod) found.push([`${path}: ${key}`, value])
  }
  return found
}

describe('lengths of texts', function () {
  this.timeout(60_000)

  it('stand before every pattern, fold and parser of bodies, queries and forms [VAL-741]', async () => {
    const ofRoutes = V1_ROUTES.flatMap((route): [string, Schema][] => [
      [`${route.operation}: query`, 'query' in route ? route.query : undefined],
      [`${route.operation}: body`, 'body' in route ? route.body : undefined],
    ])
    const ofTills = Object.values(SYNC_OPERATIONS).flatMap((operation): [string, Schema][] => [
      [`${operation.operation}: query`, 'query' in operation ? operation.query : undefined],
      [`${operation.operation}: body`, 'body' in operation ? operation.body : undefined],
    ])
    const exported = (
      await Promise.all(['src/domain', 'src/panel', 'src/payment-notifications', 'commands'].map(exportedSchemas))
    ).flat()
    expect(exported.length, 'schemas').to.be.above(100)
    const faults = [...ofRoutes, ...ofTills, ...exported].flatMap(([name, schema]) => unboundedTexts(schema, name))
    expect(faults).to.deep.equal([])
  })

  it('end the reading of a longer text [VAL-741]', () => {
    let read = 0
    const reading = limitedText(3).refine(() => {
      read += 1
      return true
    })
    expect(reading.safeParse('abcd').success).to.equal(false)
    expect(read).to.equal(0)
    for (const text of ['1'.repeat(20_000), ' '.repeat(20_000), '.'.repeat(20_000)])
      for (const schema of [
        Phone,
        Email,
        Money,
        Quantity,
        Instant,
        CalendarDate,
        ExternalId,
        nameText(80),
        boundedText(80),
      ])
        expect((schema as z.ZodType).safeParse(text).error?.issues, text[0]).to.have.length(1)
  })

  it('are demanded of new schemas, and patterns of linear time of all code [VAL-741]', () => {
    const faultsOf = (text: string) => patternFaultsOf('commands/a.ts', text, new Set())
    expect(faultsOf('limitedText(9).regex(/^a+$/)\nz.string().max(9).optional()')).to.deep.equal([])
    expect(faultsOf('z.string().max(9).trim()')[0]).to.include('z.string().trim()')
    expect(faultsOf('z.email()')[0]).to.include('z.email()')
    expect(faultsOf('z.preprocess((text) => text, z.int())')[0]).to.include('z.preprocess()')
    for (const slow of ['/^(a+)+$/', '/\\d{8,}\\.0+\\s*$/', '/\\s+$/', '/a+b/'])
      expect(faultsOf(slow)[0], slow).to.include('more than linear time')
  })
})
