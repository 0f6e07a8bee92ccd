import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { V1_ROUTES } from '#api/api-v1.ts'
import { MCP } from '#mcp/mcp.ts'
import { callTool, connectAgent, sendMessage } from '../support/agent.ts'
import { type Json, PUBLIC_URL, send, startApi, type TestCompany } from '../support/api.ts'
import { useDatabase } from '../support/database.ts'
import { useApi } from '../support/use-api.ts'

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const INITIALIZE = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
}

const bodyOf = (text: string): Json => JSON.parse(text.slice(text.indexOf('{')))

describe('tools of agents', () => {
  const api = useApi()
  let company: TestCompany
  const call = (name: string, given: object, key = company.key) => callTool(api, key, name, given)

  beforeEach(async () => {
    company = await api.company()
  })

  it('are those of the routes that the key may call, with schemas that stand alone [AGENT-1210]', async () => {
    const client = await connectAgent(api, company.key)
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(new Set(names).size).to.equal(names.length)
    expect(V1_ROUTES.map(({ operation }) => operation)).to.include.members(names)
    expect(names).to.include.members(['createSale', 'listSales', 'cancelSale', 'deleteCustomer', 'payOrder'])
    expect(names).to.not.include.members(['streamEvents']).and.not.include.members(['rotateWebhookSecret'])
    expect(Buffer.byteLength(JSON.stringify(tools))).to.be.at.most(200_000)
    const ajv = new Ajv2020({ strict: false, validateFormats: false })
    for (const { name, inputSchema, outputSchema } of tools)
      for (const schema of [inputSchema, outputSchema] as Json[]) {
        expect(schema.type).to.equal('object')
        expect(ajv.validateSchema(schema), name).to.equal(true)
        const named = [...JSON.stringify(schema).matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref]) => ref)
        const own = Object.keys(schema.$defs ?? {}).map((definition) => `#/$defs/${definition}`)
        expect(own, name).to.include.members(named)
      }
    await client.close()
  })

  it('are only those of the scopes of the key, and the others are refused [AGENT-1210]', async () => {
    const { key } = await company.newKey(['catalog:read'])
    const client = await connectAgent(api, key)
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).to.include.members(['getMe', 'listCatalogItems']).and.not.include('createCatalogItem')
    const refused = await call('createCategory', { name: 'Um' }, key)
    expect(refused.isError).to.equal(true)
    expect(JSON.parse(refused.content[0].text).error).to.deep.include({
      code: 'insufficient_scope',
      details: { missing_scope: 'catalog:write' },
    })
    await client.close()
  })

  it('say what they read, change and repeat [AGENT-1210]', async () => {
    const client = await connectAgent(api, company.key)
    const { tools } = await client.listTools()
    const hintsOf = (wanted: string) => tools.find(({ name }) => name === wanted)?.annotations
    expect(hintsOf('listSales')).to.include({ readOnlyHint: true })
    expect(hintsOf('createSale')).to.include({ readOnlyHint: false, destructiveHint: false, idempotentHint: false })
    expect(hintsOf('deleteCustomer')).to.include({ readOnlyHint: false, destructiveHint: true, idempotentHint: true })
    expect(hintsOf('payOrder')).to.include({ destructiveHint: true, idempotentHint: false, openWorldHint: true })
    await client.close()
  })

  it('do what the route does, and answer data, meta and replayed [AGENT-1213]', async () => {
    const made = await call('createCategory', { name: 'Bebidas', idempotency_key: 'k' })
    expect(made.structuredContent).to.deep.include({ replayed: false })
    expect(JSON.parse(made.content[0].text)).to.deep.equal(made.structuredContent)
    const again = await call('createCategory', { name: 'Bebidas', idempotency_key: 'k' })
    expect(again.structuredContent).to.deep.equal({ ...made.structuredContent, replayed: true })
    const { id } = made.structuredContent.data
    const changed = await call('updateCategory', { id, name: 'Sucos' })
    expect(changed.structuredContent.data).to.include({ id, name: 'Sucos' })
    const gone = await call('deleteCategory', { id })
    expect(gone.structuredContent).to.deep.equal({ data: null, replayed: false })
    const missing = await call('getCategory', { id: id + 1 })
    expect([missing.isError, missing.structuredContent]).to.deep.equal([true, undefined])
    expect(JSON.parse(missing.content[0].text).error.code).to.equal('not_found')
  })

  it('make two records of two calls without a key, also where the route demands one [AGENT-1214]', async () => {
    const ids = [await call('createCategory', { name: 'A' }), await call('createCategory', { name: 'B' })]
    expect(new Set(ids.map(({ structuredContent }) => structuredContent.data.id)).size).to.equal(2)
    const account = { description: 'Conta', amount: '10.00', due_date: '2030-01-01' }
    const { data } = (await call('createReceivable', account)).structuredContent
    const settled = await call('settleReceivable', { id: data.id, payment_method: 'pix' })
    expect(settled.structuredContent, JSON.stringify(settled)).to.deep.include({ replayed: false })
  })

  it('are tried with dry_run [AGENT-1200]', async () => {
    const tried = await call('createCategory', { name: 'Bebidas', dry_run: true })
    expect(tried.structuredContent).to.deep.include({ replayed: false })
    expect(tried.structuredContent.meta.dry_run.status).to.equal(201)
    expect((await call('listCategories', {})).structuredContent.data).to.deep.equal([])
    const wrong = await call('createCategory', { name: 'Bebidas', dry_run: 'yes' })
    expect(JSON.parse(wrong.content[0].text).error.details.fields).to.have.all.keys('dry_run')
    const read = await call('listCategories', { dry_run: true })
    expect(JSON.parse(read.content[0].text).error.code).to.equal('validation_failed')
  })

  it('show 20 records of a list, unless another limit is given [AGENT-1213]', async () => {
    const items = Array.from({ length: 25 }, (_, n) => ({ external_id: `c${n}`, name: `Categoria ${n}` }))
    const batch = await call('batchCategories', { items })
    expect(batch.structuredContent.meta.succeeded, JSON.stringify(batch)).to.equal(25)
    const { data, meta } = (await call('listCategories', {})).structuredContent
    expect([data.length, meta.has_more, meta.limit]).to.deep.equal([20, true, 20])
    const rest = await call('listCategories', { cursor: meta.next_cursor })
    expect(rest.structuredContent.data).to.have.length(5)
    expect((await call('listCategories', { limit: 25 })).structuredContent.data).to.have.length(25)
  })

  it('refuse wrong arguments as the route does [AGENT-1213]', async () => {
    for (const [name, given, field] of [
      ['createCategory', {}, 'name'],
      ['createCategory', { name: 'A', colour: 'red' }, 'colour'],
      ['listCategories', { colour: 'red' }, 'colour'],
      ['getCategory', {}, 'id'],
      ['createCategory', { name: 'A', idempotency_key: 7 }, 'idempotency_key'],
    ] as const) {
      const refused = await call(name, given)
      const { code, details } = JSON.parse(refused.content[0].text).error
      expect(code).to.equal('validation_failed')
      expect([...Object.keys(details.fields), ...details.unknown_fields], name).to.include(field)
    }
    expect((await call('getCategory', { id: '../customers/1' })).isError).to.equal(true)
    expect((await call('nothing', {})).protocolError.code).to.equal(-32602)
  })

  it('leave their name in the request log and in the ledger, where REST leaves nothing [AGENT-1216]', async () => {
    await call('createCategory', { name: 'Por agente' })
    await company.post('/catalog/categories', { name: 'Por programa' })
    const { body } = await company.get('/events?types=CategoryCreated')
    expect(body.data.map(({ via }: Json) => via)).to.deep.equal(['mcp:createCategory', undefined])
    const log = (await company.get('/requests?method=POST')).body.data
    expect(log.map(({ via, path }: Json) => [via ?? null, path])).to.deep.equal([
      [null, '/catalog/categories'],
      ['mcp:createCategory', '/catalog/categories'],
    ])
    const { valid } = (await company.get('/events/verify')).body.data
    expect(valid).to.equal(true)
  })
})

describe('HTTP of /mcp', () => {
  const api = useApi()
  const database = useDatabase()

  it('refuses without a valid key, without the plan, from other origins and over HTTP [AGENT-1217]', async () => {
    const company = await api.company()
    const unpaid = await api.company({ plan: 'basic' })
    const statuses = [
      await sendMessage(api, null, LIST),
      await sendMessage(api, `tb_test_${'A'.repeat(43)}`, LIST),
      await sendMessage(api, unpaid.key, LIST),
      await sendMessage(api, company.key, LIST, { origin: 'https://elsewhere.example' }),
      await sendMessage(api, company.key, LIST, { 'x-forwarded-proto': 'http' }),
      await sendMessage(api, company.key, LIST, { origin: new URL(PUBLIC_URL).origin }),
    ]
    expect(statuses.map(({ status }) => status)).to.deep.equal([401, 401, 402, 403, 403, 200])
    for (const { headers } of statuses.slice(0, 2)) expect(headers.get('www-authenticate')).to.equal('Bearer')
    for (const { body } of statuses.slice(0, 5)) expect(body.error).to.have.any.keys('code')
  })

  it('answers 405 to GET and DELETE, and takes one message at a time [AGENT-1217]', async () => {
    const { key } = await api.company()
    const headers = { authorization: `Bearer ${key}` }
    for (const method of ['GET', 'DELETE'])
      expect((await send(`${api.url}${MCP}`, method, undefined, headers)).status).to.equal(405)
    expect((await sendMessage(api, key, [LIST, LIST])).status).to.equal(400)
    expect((await sendMessage(api, key, '{"jsonrpc":')).status).to.equal(400)
  })

  it('connects clients of the protocol of 2025 [AGENT-1217]', async () => {
    const { key } = await api.company()
    for (const protocolVersion of ['2025-03-26', '2025-06-18', '2025-11-25']) {
      const message = { ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion } }
      const { result } = bodyOf((await sendMessage(api, key, message)).text)
      expect(result.protocolVersion).to.equal(protocolVersion)
      expect(result.capabilities).to.have.all.keys('tools', 'resources', 'prompts')
    }
  })

  it('counts a call as a request, and refuses it as a result beyond the quota [AGENT-1213]', async () => {
    const strict = await startApi(database.url, { perMinute: 2 })
    try {
      const { key } = await strict.company()
      const call = () => callTool(strict, key, 'getMe', {})
      expect([(await call()).isError ?? false, (await call()).isError ?? false]).to.deep.equal([false, false])
      const third = await call()
      expect([third.isError, JSON.parse(third.content[0].text).error.code]).to.deep.equal([true, 'rate_limited'])
      expect((await sendMessage(strict, key, LIST)).status).to.equal(429)
    } finally {
      await strict.close()
    }
  })
})

describe('resources and prompts of agents', () => {
  const api = useApi()

  it('are the contract, the guides and the events that the key reads [AGENT-1220]', async () => {
    const company = await api.company()
    await company.post('/catalog/categories', { name: 'A' })
    await company.post('/customers', { name: 'Ana' })
    const { key } = await company.newKey(['catalog:read'])
    const client = await connectAgent(api, key)
    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).to.include.members(['tillbook://contract', 'tillbook://guide/integrators'])
    const read = async (uri: string) => ((await client.readResource({ uri })).contents[0] as { text: string }).text
    expect(JSON.parse(await read('tillbook://contract')).openapi).to.match(/^3\.1/)
    expect(await read('tillbook://guide/integrators')).to.match(/^# /)
    const first = JSON.parse(await read('tillbook://events?after=-1'))
    expect(first.data.map(({ type }: Json) => type)).to.deep.equal(['CategoryCreated'])
    const next = JSON.parse(await read(`tillbook://events?after=${first.meta.next_after}`))
    expect(next).to.deep.equal({ data: [], meta: { next_after: first.meta.next_after, has_more: false } })
    for (const uri of ['tillbook://events?after=x', 'tillbook://other']) {
      const error = await read(uri).catch((failure: Error) => failure)
      expect(error).to.be.instanceOf(Error)
    }
    await client.close()
  })

  it('guide through a day, a debt and a price list [AGENT-1220]', async () => {
    const { key } = await api.company()
    const client = await connectAgent(api, key)
    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).to.deep.equal(['reconcile_day', 'customer_debt', 'price_list'])
    const { messages } = await client.getPrompt({ name: 'reconcile_day', arguments: { day: '2026-11-20' } })
    expect(JSON.stringify(messages)).to.include('2026-11-20')
    await client.close()
  })
})
