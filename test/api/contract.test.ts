import { readFileSync } from 'node:fs'
import { Validator } from '@seriousme/openapi-schema-validator'
import { expect } from 'chai'
import type { z } from 'zod'
import { V1_ROUTES } from '#api/api-v1.ts'
import { createContract } from '#api/contract/contract-document.ts'
import { DETAILS } from '#api/contract/contract-errors.ts'
import { CreateItemInput } from '#commands/item-commands.ts'
import { CreateCustomerInput } from '#commands/person-commands.ts'
import { WARNING_CODES } from '#commands/record-commands.ts'
import { LinesInput } from '#commands/sale-lines.ts'
import { SCOPES } from '#domain/rights.ts'
import { WEBHOOK_EVENT_GROUPS, WEBHOOK_EVENTS } from '#events/catalogue.ts'
import { type ProblemCode, toHttpStatus } from '#http/problems.ts'
import { deliveryHeaders } from '#webhooks/sender.ts'
import { expectProblem, expectRate, listUnexplained } from '../support/answers.ts'
import { type Json, PUBLIC_URL, type Reply, send, startApi, type TestApi, type TestCompany } from '../support/api.ts'
import {
  contract,
  documentedCodes,
  documentedSuccesses,
  expectAcceptable,
  expectDocumented,
  expectDocumentedMessage,
  expectExample,
  isStream,
  operations,
} from '../support/contract.ts'
import { useDatabase } from '../support/database.ts'
import { rawRequest } from '../support/raw-request.ts'
import { tillContract } from '../support/till-contract.ts'
import { useApi } from '../support/use-api.ts'
import type { Call, Case } from './contract/case.ts'
import { CASES } from './contract/cases.ts'
import { EDGE, sendCall } from './contract/edge.ts'
import { createWorld, type World } from './contract/world.ts'

/** Outcome of a response, as named in the case tables. */
function outcomeOf({ status, body }: Reply, wanted: string): string {
  if (status >= 400) return body.error.code
  if (!wanted.startsWith('item:')) return String(status)
  expect(body.meta.errors).to.have.length(1)
  return `item:${body.meta.errors[0].code}`
}

const isSuccess = (outcome: string) => /^\d/.test(outcome)

describe('contract by operation', () => {
  const database = useDatabase()
  let world: World

  before(async () => {
    world = await createWorld(database.url)
  })
  after(() => world.close())

  for (const operation of operations) {
    const cases = CASES[operation.id] ?? {}
    const edge = documentedCodes(operation).filter((code) => code in EDGE && !(code in cases)) as ProblemCode[]

    const success = Object.keys(cases).find(isSuccess) ?? ''

    describe(`${operation.id}: ${operation.method} ${operation.path}`, () => {
      it('has a case for every documented outcome, and no other [HTTP-15]', () => {
        const documented = [...documentedSuccesses(operation), ...documentedCodes(operation)]
        expect([...Object.keys(cases), ...edge]).to.have.members(documented)
      })

      for (const [outcome, prepare] of Object.entries(cases)) {
        // A stream never ends: test/api/events.test.ts covers it.
        if (outcome === success || isStream(operation)) continue
        it(`responds ${outcome} as documented [HTTP-15]`, async () => {
          const call = await prepare(world)
          if (isSuccess(outcome) && outcome !== '207') expectAcceptable(operation, call.body)
          expectOutcome(outcome, await sendCall(world, { operation, call }))
        })
      }

      it(`refuses at the edge as documented, with ${edge.length} codes, and then succeeds [HTTP-15, LIST-9]`, async () => {
        const call = await (cases[success] as Case)(world)
        // Sent together: a refusal changes nothing that another one depends on.
        const refuse = (code: ProblemCode) => EDGE[code]?.(world, { operation, call }) as Promise<Reply>
        const replies = await Promise.all(edge.map(refuse))
        for (const [n, code] of edge.entries()) {
          const reply = replies[n] as Reply
          expect(`${reply.status} ${reply.body?.error?.code}`, reply.text).to.equal(`${toHttpStatus(code)} ${code}`)
          expectDocumented(operation, reply)
        }
        if (!isStream(operation)) await expectSuccess(call)
      })

      function expectOutcome(outcome: string, reply: Reply): void {
        expect(outcomeOf(reply, outcome), reply.text).to.equal(outcome)
        expectDocumented(operation, reply)
      }

      /** A read has a representation that a client may have; a repetition under an Idempotency-Key is answered alike. */
      async function expectSuccess(call: Call): Promise<void> {
        expectAcceptable(operation, call.body)
        const isRead = operation.method === 'GET'
        const keyed = { ...call.headers, ...(!isRead && { 'idempotency-key': world.unique('key') }) }
        const first = await sendCall(world, { operation, call }, { headers: keyed })
        expectOutcome(success, first)
        const again = isRead ? { 'if-none-match': '*' } : keyed
        const second = await sendCall(world, { operation, call }, { headers: again })
        expectDocumented(operation, second)
        if (isRead) {
          expect(second.status).to.equal(304)
          return
        }
        expect(second.headers.get('idempotent-replayed')).to.equal('true')
        // Secrets are shown once: a stored response omits them.
        const stored = first.text.replace(/,"secret":"[^"]*"/, '')
        expect([second.status, second.text]).to.deep.equal([first.status, stored])
      }
    })
  }

  it('has no cases of removed operations', () => {
    expect(operations.map(({ id }) => id)).to.include.members(Object.keys(CASES))
  })
})

describe('contract document', () => {
  it('is valid OpenAPI 3.1 [HTTP-14]', async () => {
    const result = await new Validator().validate(structuredClone(contract) as never)
    expect(result.valid, JSON.stringify(result.errors)).to.equal(true)
    expect(contract.openapi).to.match(/^3\.1\./)
  })

  it('names every operation once, with summary, description, group and required scope', () => {
    const ids = operations.map(({ id }) => id)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(ids).to.have.length(V1_ROUTES.length)
    const groups = contract.tags?.map(({ name }) => name)
    for (const { id, node } of operations) {
      expect(id).to.match(/^[a-z][A-Za-z]+$/)
      expect(node.summary, id).to.match(/^[A-ZÀ-Ü].*[^.]$/)
      expect(groups, id).to.include(node.tags?.[0])
      const scope = node['x-required-scope']
      const { apiKey: scopes = [] } = node.security?.[0] ?? {}
      expect(scopes.slice(0, 1), id).to.deep.equal(scope ? [scope] : [])
      for (const each of scopes) expect(node.description, id).to.include(`\`${each}\``)
    }
  })

  it('explains every field and every parameter', () => {
    expect(listUnexplained(contract)).to.deep.equal([])
  })

  it('bounds every list of a body, and refuses a longer one before its elements are validated [HTTP-42]', () => {
    const unbounded: string[] = []
    let lists = 0
    const visit = (node: Json, trail: string): void => {
      if (typeof node !== 'object' || node === null) return
      if (node.$ref) visit(contract.components?.schemas?.[node.$ref.split('/').at(-1)], trail)
      if (node.type === 'array') lists += 1
      if (node.type === 'array' && typeof node.maxItems !== 'number') unbounded.push(trail)
      for (const [member, value] of Object.entries(node)) visit(value, `${trail}/${member}`)
    }
    for (const { id, node } of operations) visit((node.requestBody as Json)?.content['application/json'].schema, id)
    expect(lists).to.be.above(5)
    expect(unbounded).to.deep.equal([])
    const untouchable = new Proxy({}, { get: () => expect.fail('an element was validated') })
    const result = LinesInput.safeParse(Array.from({ length: 501 }, () => untouchable))
    expect(result.error?.issues.map(({ message }) => message)).to.deep.equal(['no máximo 500 itens'])
  })

  it('shows bodies that the schemas accept', () => {
    for (const route of V1_ROUTES) {
      if (route.method === 'get') continue
      const schema: z.ZodType | undefined = 'batch' in route ? route.item : route.body
      if (!schema) continue
      const example = route.example as { items?: unknown[] } | undefined
      expect(example, route.operation).to.not.equal(undefined)
      for (const body of 'batch' in route ? (example?.items ?? []) : [example]) {
        // The example of PUT by-external omits fields given in the path.
        const result = schema.safeParse(body)
        expect(result.error?.issues ?? [], route.operation).to.deep.equal([])
      }
    }
  })

  it('shows records that match their schemas', () => {
    const schemas = Object.entries((contract.components?.schemas ?? {}) as Record<string, Json>)
    const shown = schemas.filter(([, { examples }]) => examples)
    for (const [name, { examples }] of shown) for (const example of examples) expectExample(name, example)
    for (const { node, id } of operations) {
      const reply = Object.entries(node.responses ?? {}).find(([status]) => status < '300')?.[1]
      const schema = reply.content?.['application/json']?.schema
      const { properties } = contract.components?.schemas?.[schema?.$ref.split('/').pop()] ?? ({} as Json)
      // A receipt is the whole response, without `data`.
      const data = properties?.data ?? schema
      const name = (data?.$ref ?? data?.items?.$ref)?.split('/').pop()
      if (name)
        expect(
          shown.map(([each]) => each),
          id,
        ).to.include(name)
    }
  })

  it('describes every webhook event, with delivery headers and an example', () => {
    const webhooks = (contract.webhooks ?? {}) as Record<string, Json>
    expect(Object.keys(webhooks)).to.have.members(WEBHOOK_EVENTS)
    const secrets = { secret: 'whsec_a', next_secret: 'whsec_b', switch_at: '2026-11-22T00:00:00.000Z' }
    for (const [event, { post }] of Object.entries(webhooks)) {
      const delivery = { id: 'x', event, revision: 1, sequence: 1, traceparent: '00-1-2-01', body: '{}' }
      const sent = Object.keys(deliveryHeaders(delivery, secrets, Date.parse('2026-11-21T00:00:00.000Z')))
      const named = post.parameters.map(({ name }: Json) => name)
      expect(named).to.have.members(sent.filter((name) => name !== 'Content-Type' && name !== 'User-Agent'))
      const { example } = post.requestBody.content['application/json']
      expect(example).to.include({ event })
      expectDocumentedMessage(event, example)
    }
  })
})

describe('contract for generators', () => {
  /** Each schema of the contract, with its place. */
  function schemasIn(node: Json, place = ''): (readonly [place: string, schema: Json])[] {
    if (typeof node !== 'object' || node === null) return []
    const inner = Object.entries(node).flatMap(([member, value]) =>
      /^(?:examples?|default|enum|const)$/.test(member) ? [] : schemasIn(value, `${place}/${member}`),
    )
    return [[place, node], ...inner]
  }
  const schemas = schemasIn(contract)
  const { components } = JSON.parse(JSON.stringify(contract))
  const isNull = ({ type }: Json) => type === 'null'

  it('names every body of a request and of a success [HTTP-60]', () => {
    const unnamed = operations.flatMap(({ id, node: { requestBody, responses } }) => {
      const successes = Object.entries<Json>(responses ?? {}).filter(([status]) => status < '300')
      const bodies: Json[] = [requestBody, ...successes.map(([, response]) => response)]
      const shown = bodies.flatMap((body) => Object.values<Json>(body?.content ?? {}))
      return shown.every(({ schema }) => schema.$ref) ? [] : [id]
    })
    expect(unnamed).to.deep.equal([])
  })

  it('names every object within the body of a request [HTTP-60]', () => {
    const within = /^\/components\/schemas\/\w+(?:Input|Changes|BatchItem|Replacement)\/properties\//
    const unnamed = schemas.filter(([place, { properties }]) => properties && within.test(place))
    expect(unnamed.map(([place]) => place)).to.deep.equal([])
  })

  for (const [document, whole] of Object.entries({ 'API v1': contract, 'the tills': tillContract })) {
    it(`names each object and each list of values of ${document}, and has one type of error [HTTP-60]`, () => {
      const root = /^\/components\/schemas\/\w+$/
      const found = schemasIn(whole).filter(([place]) => !/\/(?:headers|x-[\w-]+)(?:\/|$)/.test(place))
      const unnamed = found.filter(
        ([place, node]) => (node.enum || (node.properties && node.type === 'object')) && !root.test(place),
      )
      expect(unnamed.map(([place]) => place)).to.deep.equal([])
      const errors = found.filter(([place]) => /\/responses\/(?:Error|Failure)?[45]\d\d.*\/schema$/.test(place))
      expect(errors.length).to.be.above(5)
      for (const [place, { $ref }] of errors) expect($ref, place).to.match(/\/(?:Error|Failure)$/)
    })
  }

  it('lists the codes of each refusal in its text, and all of them with the type of errors', () => {
    const listed = new Set<string>()
    for (const response of Object.values<Json>(components.responses)) {
      const codes: string[] = response['x-error-codes'] ?? []
      for (const code of codes) listed.add(code)
      for (const code of codes) expect(response.description).to.include(`\`${code}\`: `)
    }
    expect(listed.size).to.be.above(30)
    expect(components.schemas.Problem.properties.code).to.include({ type: 'string' })
    expect(components.schemas.Problem.properties.code['x-extensible-enum']).to.have.members([...listed])
    expect(Object.keys(components.schemas.ErrorDetails['x-details-by-code'])).to.deep.equal(Object.keys(DETAILS))
  })

  it('shows lists that grow as open texts in answers, and as closed lists in requests [HTTP-841]', () => {
    const { MeKey, Webhook, Warning, RegisterWebhookInput } = components.schemas
    for (const [list, values] of [
      [MeKey.properties.scopes.items, SCOPES],
      [Webhook.properties.events.items, [...WEBHOOK_EVENTS, ...WEBHOOK_EVENT_GROUPS]],
      [Warning.properties.code, WARNING_CODES],
    ] as const) {
      expect(list).to.include({ type: 'string' }).and.not.have.any.keys('enum', '$ref')
      expect(list['x-extensible-enum']).to.deep.equal([...values])
    }
    const { $ref } = RegisterWebhookInput.properties.events.items
    expect(components.schemas[$ref.split('/').at(-1)].enum).to.include('sale.completed')
  })

  it('shows an external id of the own resource in each path by external id', () => {
    const shown = operations.flatMap(({ id, path, node }) => {
      if (!path.includes('{external_id}')) return []
      const { schema }: Json = (node.parameters ?? []).find((one) => 'name' in one && one.name === 'external_id')
      const success: Json = Object.values(node.responses ?? {})[0]
      const { properties } = components.schemas[success.content['application/json'].schema.$ref.split('/').at(-1)]
      const record = components.schemas[properties.data.$ref.split('/').at(-1)]
      expect(schema.examples, id).to.deep.equal([record.examples[0].external_id])
      return schema.examples
    })
    expect(new Set(shown).size).to.be.above(6)
  })

  it('describes returns and cash of tills in words of their own [SYNC-40]', () => {
    const { schemas: till } = JSON.parse(JSON.stringify(tillContract.components))
    const textOf = (place: string) => {
      const [name = '', member = ''] = place.split('.')
      return till[name].properties[member].description
    }
    for (const [one, other] of [
      ['OfflineReturn.offline_id', 'OfflineSale.offline_id'],
      ['OfflineReturn.items', 'OfflineSale.items'],
      ['OfflineReturn.customer_id', 'OfflineSale.customer_id'],
      ['OfflineReturn.reason', 'Conflict.reason'],
      ['OfflineReturnItem.quantity', 'OfflineItem.quantity'],
      ['OfflineRefund.amount', 'OfflinePayment.amount'],
      ['ReturnResult.warnings', 'SaleResult.warnings'],
      ['ReturnsUploadResult.results', 'UploadResult.results'],
      ['CashUploadResult.results', 'UploadResult.results'],
    ] as const)
      expect(textOf(one), one).to.not.equal(textOf(other))
    expect(till.OfflineSale.properties.customer_id.type).to.deep.equal(['integer', 'null'])
  })

  it('has booleans for flags, also in queries [HTTP-60]', () => {
    const flags = schemas.filter(([, node]) =>
      [node.const ?? [], node.enum ?? []].flat().some((one: unknown) => one === 'true'),
    )
    expect(flags.filter(([place]) => !place.includes('/headers/')).map(([place]) => place)).to.deep.equal([])
  })

  it('writes null as a type of a plain value, and as an alternative of others [HTTP-60]', () => {
    const others = schemas.filter(([, { anyOf = [] }]) => Array.isArray(anyOf) && anyOf.some(isNull))
    expect(others.map(([place]) => place)).to.deep.equal([])
    const { CatalogItem, Customer, Sale } = components.schemas
    expect(CatalogItem.properties.sku.type).to.deep.equal(['string', 'null'])
    expect(CatalogItem.properties.category_id.type).to.deep.equal(['integer', 'null'])
    expect(Customer.properties.address.oneOf).to.deep.equal([
      { $ref: '#/components/schemas/Address' },
      { type: 'null' },
    ])
    expect(Sale.properties.customer.oneOf?.some(isNull)).to.equal(true)
  })

  it('has a size for every integer: 64 bits for ids [HTTP-60]', () => {
    const integers = schemas.filter(([, { type }]) => [type].flat().includes('integer'))
    expect(integers.length).to.be.above(100)
    expect(integers.filter(([, { format }]) => !['int32', 'int64'].includes(format))).to.deep.equal([])
    expect(components.schemas.CatalogItem.properties.id.format).to.equal('int64')
    expect(components.schemas.PageMeta.properties.limit.format).to.equal('int32')
  })

  it('has 408 for every operation, a contact, and the address of the service [HTTP-60]', () => {
    for (const { id, node } of operations) expect(node.responses, id).to.have.property('408')
    const { info, servers } = createContract(V1_ROUTES, `${PUBLIC_URL}/`)
    expect(servers).to.deep.equal([{ url: `${PUBLIC_URL}/api/v1` }])
    expect(info.contact).to.deep.equal({ name: 'Tillbook', url: `${PUBLIC_URL}/docs` })
  })

  const FORMS: Readonly<Record<string, { readonly takes: readonly string[]; readonly refuses: readonly string[] }>> = {
    'CatalogItemInput.gtin': {
      takes: ['96385074', '036000291452', '7891234567895', '17891234567892', 'SEM GTIN'],
      refuses: [' ', '7891', '789.1234567895', 'sem  gtin', 'GTIN'],
    },
    'CustomerInput.document': {
      takes: [
        '529.982.247-25',
        '52998224725',
        '11.222.333/0001-81',
        '12.abc.345/01DE-35',
        ' 11222333000181 ',
        ' ',
        '-',
        '000.000.000-00',
      ],
      refuses: ['_', '5299822472', '529.982.247-2x', '11_222_333_0001_81'],
    },
    'CustomerInput.phone': {
      takes: ['+55 (11) 98765-4321', '11987654321', '123456', ' ', 'N/A'],
      refuses: ['_', '12345', '11 9876x-4321', '123456789012345678901'],
    },
  }
  for (const [field, { takes, refuses }] of Object.entries(FORMS)) {
    it(`has the form of ${field} as a pattern, no narrower than the service [HTTP-60]`, () => {
      const [name = '', member = ''] = field.split('.')
      const pattern = new RegExp(components.schemas[name].properties[member].pattern)
      const input = name === 'CustomerInput' ? CreateCustomerInput : CreateItemInput
      for (const text of takes) {
        expect(pattern.test(text), text).to.equal(true)
        const body = { name: 'Café', ...(name === 'CatalogItemInput' && { price: '1.00' }), [member]: text }
        expect(input.safeParse(body).error?.issues ?? [], text).to.deep.equal([])
      }
      for (const text of refuses) expect(pattern.test(text), text).to.equal(false)
    })
  }
})

describe('/api/v1/openapi.json', () => {
  const database = useDatabase()
  let api: TestApi
  before(async () => {
    api = await startApi(database.url, { perMinute: 5 })
  })
  after(() => api.close())

  it('is served without a key, limited per IP address [HTTP-14]', async () => {
    const reply = await send(`${api.url}/api/v1/openapi.json`, 'GET')
    expect(reply.status).to.equal(200)
    expect(reply.body).to.deep.equal(JSON.parse(JSON.stringify(createContract(V1_ROUTES, PUBLIC_URL))))
    expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8')
    expect(reply.headers.get('x-request-id')).to.be.a('string')
    expect(expectRate(reply)).to.include({ limit: 5, remaining: 4 })
  })

  it('responds 403 over plain HTTP, 405 for other methods, and 429 above the limit', async () => {
    const forwarded = { host: 'localhost', 'x-forwarded-proto': 'http' }
    expectProblem(
      await rawRequest(api.url, { path: '/api/v1/openapi.json', headers: forwarded }),
      403,
      'insufficient_scope',
    )
    const posted = await send(`${api.url}/api/v1/openapi.json`, 'POST', {})
    expectProblem(posted, 405, 'method_not_allowed')
    expect(posted.headers.get('allow')).to.equal('GET, HEAD')
    await send(`${api.url}/api/v1/openapi.json`, 'HEAD')
    await send(`${api.url}/api/v1/openapi.json`, 'GET')
    const limited = await send(`${api.url}/api/v1/openapi.json`, 'GET')
    expectProblem(limited, 429, 'rate_limited')
    expect(limited.headers.get('retry-after')).to.match(/^\d+$/)
  })
})

/** What differs from run to run: ids, and times of recording. */
const VARYING = /^(id|.*_id|created_at|updated_at|synced_at)$/

const steady = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(steady)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, VARYING.test(name) && each !== null ? '…' : steady(each)]),
  )
}

const requestOf = (id: string): Json => {
  const operation = operations.find((each) => each.id === id) as Json
  return operation.node.requestBody.content['application/json'].example
}

const answerOf = (component: string): Json => (contract.components as Json).schemas[component].examples[0]

describe('examples of the contract', () => {
  const api = useApi()
  let company: TestCompany

  beforeEach(async () => {
    company = await api.company()
  })

  const create = async (path: string, body: object): Promise<Json> => {
    const reply = await company.post(path, body)
    expect(reply.status, reply.text).to.equal(201)
    return reply.body.data
  }

  for (const [id, path, component] of [
    ['createCustomer', '/customers', 'Customer'],
    ['createSupplier', '/suppliers', 'Supplier'],
    ['createCategory', '/catalog/categories', 'Category'],
  ] as const)
    it(`are answers of the service: ${component} [HTTP-54]`, async () => {
      expect(steady(await create(path, requestOf(id)))).to.deep.equal(steady(answerOf(component)))
    })

  it('are answers of the service: a sale [HTTP-54]', async () => {
    const name = answerOf('Sale').payments[0].name
    const cash = await company.paymentType('cash')
    await create('/customers', { name: 'Maria da Silva', external_id: 'CLI-001' })
    const codes = { ncm: '09012100', cest: '1709600', origin: '0', cfop: '5102', csosn: '102' }
    await create('/catalog/items', { external_id: 'CAFE-500', name: 'Café torrado 500 g', price: '18.90', ...codes })
    const body = requestOf('createSale')
    const payments = body.payments.map((payment: Json) => ({ ...payment, payment_type_id: cash }))
    const sale = await create('/sales', { ...body, payments })
    // The item and its seller are younger than the sale of the example.
    const shown = { ...sale, warnings: [], payments: sale.payments.map((payment: Json) => ({ ...payment, name })) }
    expect(steady(shown)).to.deep.equal(steady(answerOf('Sale')))
  })

  it('are answers of the service: the sale of the README [HTTP-54]', async () => {
    const text = readFileSync('README.md', 'utf8')
    const [, request = '', answer = ''] =
      /Idempotency-Key: order-4711\n\n([\s\S]*?)\n\n201 Created\n\n([\s\S]*?), …\}\}\n/.exec(text) ?? []
    const shown = JSON.parse(`${answer}}}`).data
    const cash = await company.paymentType('cash')
    await create('/catalog/items', { external_id: 'cafe', name: 'Café torrado 500 g', price: '18.90', stock: '10' })
    const body = JSON.parse(request)
    const sale = await create('/sales', { ...body, payments: [{ ...body.payments[0], payment_type_id: cash }] })
    sale.payments[0].name = shown.payments[0].name
    for (const one of [sale, shown]) one.sold_at = '…'
    expect(steady(sale)).to.deep.include(steady(shown))
  })
})
