import { expect } from 'chai'
import { postmanOf } from '#api/docs/docs-site.ts'
import { siteOf } from '#api/docs/site.ts'
import { publishedContracts } from '#service/interfaces.ts'
import { type Json, PUBLIC_URL, send } from '../support/api.ts'
import { expectAcceptable, operations } from '../support/contract.ts'
import { expectAcceptedByTillContract, tillOperations } from '../support/till-contract.ts'
import { useApi } from '../support/use-api.ts'

const collection = JSON.parse(JSON.stringify(postmanOf(siteOf(PUBLIC_URL, publishedContracts(PUBLIC_URL))))) as Json
const requests: Json[] = collection.item.flatMap(({ item }: Json) => item)

/** Path of a request as the contract has it. */
const templateOf = ({ request }: Json): string => `/${request.url.path.join('/').replace(/:(\w+)/g, '{$1}')}`

describe('Postman collection', () => {
  it('has what the schema of version 2.1 requires [HTTP-50]', () => {
    expect(collection.info.name).to.be.a('string')
    expect(collection.info.schema).to.equal('https://schema.getpostman.com/json/collection/v2.1.0/collection.json')
    expect(collection.variable.map(({ key }: Json) => key)).to.deep.equal(['base_url', 'token', 'till_token'])
    expect(collection.variable[0].value).to.equal(PUBLIC_URL)
    expect(collection.auth).to.deep.equal({
      type: 'bearer',
      bearer: [{ key: 'token', value: '{{token}}', type: 'string' }],
    })
    for (const { name, item } of collection.item) {
      expect(name).to.be.a('string').and.not.equal('')
      expect(item).to.be.an('array').and.not.deep.equal([])
    }
    for (const { name, request, response } of requests) {
      expect(name).to.be.a('string')
      expect(request.method).to.match(/^(GET|POST|PUT|PATCH|DELETE)$/)
      for (const { key, value } of [...request.header, ...request.url.query, ...request.url.variable]) {
        expect(key, name).to.be.a('string').and.not.equal('')
        expect(value, name).to.be.a('string').and.not.equal('')
      }
      expect(request.url.host).to.deep.equal(['{{base_url}}'])
      expect(request.url.raw.startsWith(`{{base_url}}/${request.url.path.join('/')}`), name).to.equal(true)
      const named = [...request.url.raw.matchAll(/:(\w+)/g)].map(([, variable]) => variable)
      expect(request.url.variable.map(({ key }: Json) => key)).to.deep.equal(named)
      if (request.body) expect(request.body.mode).to.equal('raw')
      expect(response).to.be.an('array')
      for (const { code, body, originalRequest } of response) {
        expect(code).to.be.within(200, 299)
        expect(JSON.parse(body)).to.be.an('object')
        expect(originalRequest).to.deep.equal(request)
      }
    }
  })

  it('has every operation of both contracts once, with a body that the contract accepts [HTTP-50]', () => {
    const named = requests.map((each) => `${each.request.method} ${templateOf(each)}`)
    const ofV1 = operations.map(({ method, path }) => `${method} /api/v1${path}`)
    const ofTills = tillOperations.map(({ method, path }) => `${method} ${path}`)
    expect(named).to.have.members([...ofV1, ...ofTills])
    for (const each of requests) {
      const body = each.request.body && JSON.parse(each.request.body.raw)
      const path = templateOf(each)
      const method = each.request.method
      const v1 = operations.find((one) => one.method === method && `/api/v1${one.path}` === path)
      const till = tillOperations.find((one) => one.method === method && one.path === path)
      if (v1) expectAcceptable(v1, body)
      if (till) expectAcceptedByTillContract(till, body)
    }
  })

  describe('served', () => {
    const api = useApi()

    it('is at /docs/postman.json, and its requests reach their operations [HTTP-50]', async () => {
      const served = await send(`${api.url}/docs/postman.json`, 'GET')
      expect(served.headers.get('content-type')).to.equal('application/json; charset=utf-8')
      expect(served.body).to.deep.equal(collection)
      const company = await api.company()
      const wanted = requests.filter(({ request }) => request.url.path[1] === 'v1' && request.method === 'GET')
      expect(wanted.length).to.be.above(20)
      for (const { name, request } of wanted) {
        if (request.url.raw.endsWith('/events/stream')) continue
        const path = request.url.raw
          .replace('{{base_url}}/api/v1', '')
          .replace(/:(\w+)/g, (_: string, key: string) =>
            encodeURIComponent(request.url.variable.find((variable: Json) => variable.key === key).value),
          )
        const { status, body } = await company.get(path)
        expect([200, 404, 403], `${name}: ${path} ${JSON.stringify(body)}`).to.include(status)
        expect(body?.error?.details?.reason, name).to.not.equal('route_not_found')
      }
    })
  })
})
