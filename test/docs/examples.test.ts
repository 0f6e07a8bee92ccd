import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { parse } from 'yaml'
import { createSite, toCurl } from '#api/docs/docs-page.tsx'
import { toPostman } from '#api/docs/docs-site.ts'
import { documentedSettings, readConfig, SETTING_NAMES } from '#config/config.ts'
import { FISCAL_CODES } from '#domain/fiscal-values.ts'
import { publishedContracts, settingsReference } from '#service/interfaces.ts'
import { createMetrics } from '#service/metrics.ts'
import { type Json, PUBLIC_URL, send, type TestCompany } from '../support/api.ts'
import { expectAcceptable, operations } from '../support/contract.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { SOURCES } from '../support/program.ts'
import { openTill } from '../support/till.ts'
import { expectAcceptedByTillContract, tillOperations } from '../support/till-contract.ts'
import { useApi, useCompany } from '../support/use-api.ts'

/** Answers that say that a request was understood: records of the example may be missing. */
const UNDERSTOOD =
  /: (200|201|202|204|207|403 not_test_company|404 not_found|409 \w+|422 (insufficient_stock|payment_mismatch|validation_failed)|401|400 invalid_notification)$/

describe('curl commands of the API documentation', function () {
  this.timeout(180_000)
  const api = useApi()
  let company: TestCompany
  let workplace: Workplace

  before(async () => {
    company = await api.company()
    await company.paymentType('cash')
    const { token } = await openTill(api.url, company)
    workplace = await openWorkplace({ KEY: company.key, TOKEN: token })
  })
  after(async () => {
    await workplace.close()
  })

  /** The arguments that a shell gives curl, of each command. */
  async function argumentsOf(commands: readonly string[]): Promise<string[][]> {
    const curl = `curl() { printf '%s\\x1f' "$@"; printf '\\x1e'; }`
    const { stdout } = await workplace.bash(`${curl}\n${commands.join('\n')}`)
    return stdout
      .split('\x1e')
      .slice(0, -1)
      .map((one) => one.split('\x1f').slice(0, -1))
  }

  /** Sends what curl would send: status of the answer, and code of an error. */
  async function answerTo(given: readonly string[]): Promise<string> {
    const valuesOf = (flag: string) => given.flatMap((one, position) => (given[position - 1] === flag ? [one] : []))
    const flags = ['-X', '-H', '-d', '-N']
    const [url = '', ...others] = given.filter(
      (one, n) => !flags.includes(one) && !['-X', '-H', '-d'].includes(given[n - 1] ?? ''),
    )
    expect(others).to.deep.equal([])
    const headers = Object.fromEntries(
      valuesOf('-H').map((line) => {
        const [name = '', value = ''] = line.split(/: (.*)/)
        return [name.toLowerCase(), value]
      }),
    )
    const reply = await send(url, valuesOf('-X')[0] ?? 'GET', valuesOf('-d')[0], headers)
    return `${reply.status} ${reply.body?.error?.code ?? ''}`.trim()
  }

  it('are understood by the service, for every operation [HTTP-50]', async () => {
    const site = createSite(api.url, publishedContracts(api.url))
    // The token is used until the end, and a stream does not end.
    const omitted = ['refreshToken', 'logout', 'resetTestCompany', 'streamEvents']
    const documented = site.resources.flatMap((resource) =>
      resource.operations
        .filter(({ operation }) => !omitted.includes(operation.operationId ?? ''))
        .map((one) => ({ id: one.operation.operationId, command: toCurl(site.publicUrl, resource, one) })),
    )
    expect(documented.length).to.be.above(90)
    const commands = await argumentsOf(documented.map(({ command }) => command))
    const answers: string[] = []
    for (const given of commands) answers.push(await answerTo(given))
    expect(answers).to.have.length(documented.length)
    const odd = answers
      .map((answer, position) => `${documented[position]?.id}: ${answer}`)
      .filter((line) => !UNDERSTOOD.test(line))
    expect(odd).to.deep.equal([])
  })
})

const GUIDE = readFileSync('docs/guias/nfce.md', 'utf8')

interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
}

const { schemas } = JSON.parse(readFileSync('docs/openapi.json', 'utf8')).components as {
  readonly schemas: Readonly<Record<string, Schema>>
}

const resolved = (schema: Schema): Schema => {
  const [first] = schema.anyOf ?? schema.oneOf ?? []
  if (first) return resolved(first)
  return schema.$ref ? (schemas[schema.$ref.split('/').at(-1) ?? ''] as Schema) : schema
}

/** Members of the lists of a sale, as in `payments[].card.brand`. */
const PATHS = [...GUIDE.matchAll(/`((?:items|payments)\[\]\.[a-z_.]+)`/g)].map(([, path = '']) => path)

describe('guide from a sale to an NFC-e', () => {
  const { company } = useCompany()

  it('names fields that a sale has', () => {
    expect(PATHS).to.have.length.above(20)
    for (const path of PATHS) {
      let at: Schema | undefined = resolved(schemas.Sale as Schema)
      for (const name of path.split('.')) {
        const member: Schema | undefined = at?.properties?.[name.replace('[]', '')]
        at = member && resolved(name.endsWith('[]') ? (resolved(member).items as Schema) : member)
      }
      expect(at, path).not.to.equal(undefined)
    }
  })

  it('names every fiscal code of an item and every detail of a card', () => {
    for (const code of FISCAL_CODES) expect(PATHS).to.include(`items[].${code}`)
    const { card } = resolved(schemas.SalePayment as Schema).properties ?? {}
    for (const name of Object.keys(resolved(card as Schema).properties ?? {}))
      expect(PATHS).to.include(`payments[].card.${name}`)
  })

  it('shows what the service answers to its item and its sale [SALE-23] [SALE-24]', async () => {
    const [item, sale, line] = [...GUIDE.matchAll(/^```json\n(.*?)^```/gms)].map(([, text = '']) => JSON.parse(text))
    expect((await company.post('/catalog/items', item)).status).to.equal(201)
    const card = await company.paymentType('card')
    const payments = sale.payments.map((payment: Json) => ({ ...payment, payment_type_id: card }))
    const reply = await company.post('/sales', { ...sale, payments })
    expect(reply.status, reply.text).to.equal(201)
    expect(reply.body.data.items[0]).to.include(line)
    expect(reply.body.data.payments[0].card).to.deep.equal(sale.payments[0].card)
  })
})

const fileAt = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const yamlAt = async (path: string): Promise<Json> => parse(await fileAt(path))

describe('docs/operations', () => {
  it('shows every setting with its default, format and meaning [OPS-2]', () => {
    const settings = documentedSettings().flatMap(([, listed]) => listed)
    expect(settings.map(({ name }) => name)).to.deep.equal(SETTING_NAMES)
    const page = settingsReference().text()
    for (const { name, format, about } of settings) {
      expect([format, about], name).to.not.include('')
      expect(format, name).to.not.equal(about)
      expect(page).to.include(`| \`${name}\` |`).and.include(about)
    }
    expect(page).to.include('| `PORT` | `3000` |').and.include('| `SEED_DEMO` | `true without DATABASE_URL` |')
    expect(page).to.include('| `WEBHOOK_RETRY_SECONDS` | `60,300,1800,7200,21600` |').and.include('| `SMTP_URL` | – |')
  })

  it('explains every metric of the service [OPS-20]', async () => {
    const text = await fileAt('docs/operations/metrics.md')
    const names = [...(await createMetrics().read()).matchAll(/^# TYPE (tillbook_\w+)/gm)].map(([, name]) => name)
    expect(names).to.have.length.above(5)
    for (const name of names) expect(text).to.include(`\`${name}\``)
  })
})

describe('docker-compose.yml', () => {
  let compose: Json

  before(async () => {
    compose = await yamlAt('docker-compose.yml')
  })

  it('passes known and valid settings to the service', () => {
    const { environment } = compose.services.service
    expect(SETTING_NAMES).to.include.members(Object.keys(environment))
    const plain = Object.entries<string>(environment).map(([name, value]) => [
      name,
      value.replace(/\$\{\w+:-(\w+)\}/g, '$1'),
    ])
    const config = readConfig(Object.fromEntries(plain))
    expect(config).to.include({ SEED_DEMO: true, TRUST_PROXY: 'uniquelocal' })
    for (const url of [config.DATABASE_URL, config.EVENTSTORE_URL, config.SMTP_URL]) {
      expect(Object.keys(compose.services)).to.include(new URL(url as string).hostname)
    }
  })

  it('starts the service after its dependencies are healthy, and leaves it time to stop', () => {
    const { service, ...others } = compose.services
    expect(Object.keys(service.depends_on)).to.have.members(Object.keys(others))
    for (const [name, needed] of Object.entries<Json>(service.depends_on)) {
      expect(needed).to.deep.equal({ condition: 'service_healthy' })
      expect(others[name].healthcheck.test[0]).to.equal('CMD')
    }
    expect(Number.parseInt(service.stop_grace_period, 10)).to.be.above(45)
  })

  it('publishes ports on localhost only, and stores data in declared volumes', () => {
    for (const { ports = [], volumes = [] } of Object.values<Json>(compose.services)) {
      for (const port of ports) expect(port).to.match(/^127\.0\.0\.1:/)
      for (const volume of volumes) expect(compose.volumes).to.have.property(volume.split(':')[0])
    }
  })
})

describe('Dockerfile', () => {
  it('copies compiled code and runtime files, and runs as an unprivileged user', async () => {
    const [dockerfile, ignored] = await Promise.all([fileAt('Dockerfile'), fileAt('.dockerignore')])
    for (const folder of SOURCES) {
      expect(dockerfile).to.include(`COPY ${folder} ${folder}\n`)
      expect(ignored.split('\n')).to.include(`!${folder}`)
    }
    expect(dockerfile).to.include('COPY src/postgres/migrations src/postgres/migrations\n')
    const { scripts } = JSON.parse(await fileAt('package.json'))
    const command = JSON.parse(/^CMD (.*)$/m.exec(dockerfile)?.[1] ?? '').join(' ')
    expect(scripts.start).to.equal(`exec ${command}`)
    expect(dockerfile.indexOf('USER node')).to.be.within(0, dockerfile.indexOf('\nCMD'))
  })
})

describe('.github/workflows/ci.yml', () => {
  it('tests all supported versions of Node and Postgres, and a real EventStoreDB', async () => {
    const { jobs } = await yamlAt('.github/workflows/ci.yml')
    expect(jobs.suite.strategy.matrix).to.deep.equal({ node: [20, 22, 24, 26], postgres: [15, 18] })
    expect(jobs.suite.env).to.have.property('TEST_DATABASE_URL')
    expect(jobs.eventstoredb.env.EVENTSTORE_URL).to.equal('esdb://127.0.0.1:2113?tls=false')
    for (const job of [jobs.suite, jobs.eventstoredb]) expect(job.steps.at(-1)).to.deep.equal({ run: '.ci/run' })
    const compose = await fileAt('docker-compose.yml')
    const image = /eventstore\/eventstore:\S+/.exec(compose)?.[0]
    for (const path of ['.github/workflows/ci.yml', 'test/support/eventstoredb.ts'])
      expect(await fileAt(path)).to.include(image)
  })
})

const collection = JSON.parse(JSON.stringify(toPostman(createSite(PUBLIC_URL, publishedContracts(PUBLIC_URL))))) as Json
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
