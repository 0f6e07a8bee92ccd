import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import * as z from 'zod'
import { V1_ROUTES } from '#api/api-v1.ts'
import { CalendarDate, Instant } from '#domain/instant.ts'
import { Money, Percentage, Quantity, SignedQuantity } from '#domain/money.ts'
import { Cnpj } from '#domain/person-values.ts'
import { describeIssues, refuse, refuseField } from '#domain/refusals.ts'
import { boundedText, Email, ExternalId, Id, limitedText, nameText, Phone } from '#domain/text.ts'
import { SYNC_OPERATIONS } from '#till-sync/till-operations.ts'
import { patternFaultsOf } from '../../tools/patterns.ts'

function problems(schema: z.ZodType, json: string) {
  const result = schema.safeParse(JSON.parse(json))
  if (result.success) throw new Error(`accepted: ${json}`)
  return describeIssues(result.error)
}

const Item = z.strictObject({ quantity: Quantity, unit_price: Money.optional() })
const Body = z.strictObject({ name: boundedText(5), items: z.array(Item).min(1).max(3), at: Instant.optional() })

describe('error descriptions of an input', () => {
  it('name fields by their path, in Portuguese [HTTP-6]', () => {
    expect(
      problems(Body, '{"name":"abcdef","items":[{"quantity":"1"},{"quantity":"0","unit_price":10}]}'),
    ).to.deep.equal({
      fields: {
        name: ['deve ter no máximo 5 caracteres'],
        'items[1].quantity': ['deve ser maior que zero'],
        'items[1].unit_price': ['deve ser um valor em texto com exatamente duas casas decimais, como "10.00"'],
      },
      unknown_fields: [],
    })
  })

  it('distinguish missing, null and wrong values', () => {
    expect(problems(Body, '{"name":null,"items":[{}]}').fields).to.deep.equal({
      name: ['não pode ser nulo'],
      'items[0].quantity': ['preencha este campo'],
    })
    expect(problems(Body, '{"name":7,"items":{}}').fields).to.deep.equal({
      name: ['deve ser um texto'],
      items: ['deve ser uma lista'],
    })
    expect(problems(Body, '{"name":"a","items":[]}').fields).to.deep.equal({ items: ['deve ter no mínimo 1 item'] })
  })

  it('report a body of the wrong type as a whole', () => {
    expect(problems(Body, '[]')).to.deep.equal({ fields: { body: ['deve ser um objeto'] }, unknown_fields: [] })
    expect(problems(Body, 'null').fields).to.deep.equal({ body: ['não pode ser nulo'] })
  })

  it('list unknown fields separately, with their path', () => {
    expect(problems(Body, '{"name":"a","colour":1,"items":[{"quantity":"1","colour":2,"size":3}]}')).to.deep.equal({
      fields: {},
      unknown_fields: ['items[0].colour', 'items[0].size', 'colour'],
    })
  })

  it('report own __proto__ and constructor keys instead of dropping them', () => {
    const json =
      '{"name":"a","__proto__":{"x":1},"constructor":1,"toString":2,"items":[{"quantity":"1","__proto__":null}]}'
    expect(problems(Body, json)).to.deep.equal({
      fields: {},
      unknown_fields: ['items[0].__proto__', '__proto__', 'constructor', 'toString'],
    })
  })

  it('keep a wrong field named __proto__ as an own property', () => {
    const { fields } = describeIssues(
      new z.ZodError([{ code: 'custom', path: ['__proto__'], message: 'errado', input: 1 }]),
    )
    expect(Object.keys(fields)).to.deep.equal(['__proto__'])
    expect(JSON.stringify(fields)).to.equal('{"__proto__":["errado"]}')
  })

  it('list at most 100 fields and 100 unknown names, of bounded length', () => {
    const many = z.strictObject({ items: z.array(Item) })
    const found = problems(many, JSON.stringify({ items: Array.from({ length: 500 }, () => ({ colour: 1 })) }))
    expect(Object.keys(found.fields)).to.have.length(100)
    expect(found.unknown_fields).to.have.length(100)
    expect(Object.keys(found.fields)[0]).to.equal('items[0].quantity')
    const [name = ''] = problems(z.strictObject({}), JSON.stringify({ ['x'.repeat(1000)]: 1 })).unknown_fields
    expect(name.length).to.be.below(300)
    expect(problems(z.strictObject({}), '{"a\\u0000\\ud800":1}').unknown_fields).to.deep.equal(['a\ufffd\ufffd'])
  })

  it('do not repeat a message', () => {
    const schema = z
      .string()
      .refine(() => false, 'errado')
      .refine(() => false, 'errado')
      .refine(() => false, 'muito errado')
    expect(problems(z.strictObject({ a: schema }), '{"a":"x"}').fields).to.deep.equal({ a: ['errado', 'muito errado'] })
  })
})

describe('error descriptions of unions', () => {
  const reference = z.union([
    z.strictObject({ id: Id, quantity: Quantity }),
    z.strictObject({ description: boundedText(5), unit_price: Money, quantity: Quantity }),
  ])

  it('show the problems of the closest branch', () => {
    const schema = z.strictObject({ items: z.array(reference) })
    expect(problems(schema, '{"items":[{"description":"a","unit_price":"1","quantity":"1"}]}')).to.deep.equal({
      fields: {
        'items[0].unit_price': ['deve ser um valor em texto com exatamente duas casas decimais, como "10.00"'],
      },
      unknown_fields: [],
    })
    expect(problems(schema, '{"items":[{"id":0,"quantity":"1","colour":1}]}')).to.deep.equal({
      fields: { 'items[0].id': ['deve ser um número inteiro positivo'] },
      unknown_fields: ['items[0].colour'],
    })
  })

  it('name the alternatives if no branch has the type of the input', () => {
    const schema = z.strictObject({ events: z.union([z.literal('all'), z.array(z.string()).min(1)]) })
    expect(problems(schema, '{"events":1}').fields).to.deep.equal({ events: ['deve ser "all" ou deve ser uma lista'] })
    expect(problems(schema, '{"events":[1]}').fields).to.deep.equal({ 'events[0]': ['deve ser um texto'] })
    expect(problems(schema, '{}').fields).to.deep.equal({ events: ['preencha este campo'] })
  })

  it('name the options of a discriminator and of an enumeration', () => {
    const schema = z.discriminatedUnion('type', [
      z.strictObject({ type: z.literal('a') }),
      z.strictObject({ type: z.literal('b') }),
    ])
    expect(problems(schema, '{"type":"c"}').fields).to.deep.equal({ type: ['deve ser um destes valores: "a", "b"'] })
    expect(problems(z.strictObject({ k: z.enum(['PF', 'PJ']) }), '{"k":"X"}').fields).to.deep.equal({
      k: ['deve ser um destes valores: "PF", "PJ"'],
    })
    expect(problems(z.strictObject({ k: z.enum(['PF', 'PJ']) }), '{}').fields).to.deep.equal({
      k: ['preencha este campo'],
    })
  })

  it('mention the key or value of a record', () => {
    const schema = z.strictObject({ tags: z.record(z.string().max(2), z.int().max(5)) })
    expect(problems(schema, '{"tags":{"abc":1}}').fields).to.deep.equal({
      'tags.abc': ['deve ter no máximo 2 caracteres'],
    })
    expect(problems(schema, '{"tags":{"a":9}}').fields).to.deep.equal({ 'tags.a': ['deve ser no máximo 5'] })
  })
})

describe('messages', () => {
  it('are Portuguese for every value of the domain', () => {
    const schemas = {
      Money,
      Quantity,
      SignedQuantity,
      Percentage,
      Instant,
      Cnpj,
      Email,
      ExternalId,
      Id,
      Phone,
      text: boundedText(3),
    }
    for (const [name, schema] of Object.entries(schemas)) {
      for (const value of [undefined, null, 1.5, true, '', ' x\u0000 ', 'x'.repeat(300), [], {}]) {
        const result = schema.safeParse(value)
        if (result.success) throw new Error(`${name} accepted ${JSON.stringify(value)}`)
        for (const issue of result.error.issues)
          expect(issue.message, name).to.match(/^(deve |não pode |preencha este campo)/)
      }
    }
  })
})

describe('refusals', () => {
  it('carry a code, and details only if there are any', () => {
    expect(refuse('not_found')).to.deep.equal({ refused: 'not_found' })
    expect(refuse('duplicate_resource', { conflicting_id: 7 })).to.deep.equal({
      refused: 'duplicate_resource',
      details: { conflicting_id: 7 },
    })
  })

  it('name one invalid field in the format of a whole body', () => {
    expect(refuseField('amount', 'não confere')).to.deep.equal({
      refused: 'validation_failed',
      details: { fields: { amount: ['não confere'] }, unknown_fields: [] },
    })
  })
})

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
      await Promise.all(['src/domain', 'src/panel', 'src/public', 'commands'].map(exportedSchemas))
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
