import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { parse } from 'yaml'
import { documentedSettings, readConfig, SETTING_NAMES } from '#config/config.ts'
import { settingsReference } from '#service/interfaces.ts'
import { createMetrics } from '#service/metrics.ts'
import type { Json } from '../support/api.ts'
import { SOURCES } from '../support/program.ts'

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
