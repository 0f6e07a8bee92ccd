import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { createCustomer } from '#commands/person-commands.ts'
import { freePort } from '#postgres/embedded.ts'
import { deliveryHeaders } from '#webhooks/sender.ts'
import { useDatabase } from '../support/database.ts'
import { openWorkplace, type Workplace } from '../support/guide.ts'
import { snippetsOf } from '../support/snippets.ts'
import { until } from '../support/wait.ts'
import { type DeliveringService, startDelivering } from '../webhooks/delivering-service.ts'

const snippets = snippetsOf('docs/webhooks.md')
const scripts = snippets.filter(({ language }) => language === 'bash')
const programs = snippets.filter(({ language }) => language === 'ts')
/** Response with the secret. */
interface Shown {
  readonly data: { readonly secret: string }
}

describe('webhook guide', () => {
  const database = useDatabase()
  let service: DeliveringService
  let guide: Workplace
  let port: number
  let receiver: ChildProcess | undefined
  let output = ''
  let secret: string

  before(async () => {
    service = await startDelivering(database.url)
    port = await freePort(null)
    guide = await openWorkplace({ BASE: service.api.url, KEY: service.company.key, URL: `http://127.0.0.1:${port}/` })
    await guide.write(programs)
  })
  after(async () => {
    receiver?.kill('SIGKILL')
    await service.close()
    await guide.close()
  })

  const script = async (index: number): Promise<string> => (await guide.bash(scripts[index]?.text ?? 'false')).stdout
  const post = (body: string, changed: Record<string, string> = {}, now = Date.now()) => {
    const delivery = { id: 'copied', event: 'customer.created', revision: 1, sequence: 1, body }
    const headers = deliveryHeaders(delivery, { secret, next_secret: null, switch_at: null }, now)
    return fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers: { ...headers, ...changed }, body })
  }

  it('has programs that compile strictly [OPS-17]', () => guide.compile())

  it('registers an endpoint', async () => {
    expect(await script(0)).to.match(/^\{"id":\d+,"status":"active","events":\["basic"\]\}$/m)
    secret = (await guide.readJson<Shown>('webhook.json')).data.secret
  })

  it('has a receiver that accepts a test and an event [HOOK-15]', async () => {
    const args = ['--import', import.meta.resolve('tsx'), 'receiver.ts']
    const env = { PATH: process.env.PATH, SECRET: secret, PORT: String(port) }
    receiver = spawn(process.execPath, args, { cwd: guide.directory, env, stdio: ['ignore', 'pipe', 'inherit'] })
    receiver.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text
    })
    await until(() => output.includes('ready'))
    expect(await script(1)).to.equal('{"event":"webhook.test","status":"pending"}\n')
    await until(() => output.includes('webhook.test'))
    const { id } = await service.company.run(createCustomer, { name: 'Maria', person_type: 'PF' }, 'pdv')
    await until(() => output.includes(`customer.created ${id}\n`))
    await until(async () => (await script(2)).match(/"event":"customer.created","status":"delivered","attempts":1/))
  })

  it('has a receiver that refuses forged, altered and expired deliveries [HOOK-15]', async () => {
    const body = '{"event":"customer.created","data":{"id":9}}'
    const second = String(Math.floor(Date.now() / 1000) - 1)
    expect((await post(body, { 'webhook-signature': `v1,${'A'.repeat(43)}=` })).status).to.equal(401)
    expect((await post(body, { 'webhook-timestamp': second })).status).to.equal(401)
    expect((await post(body, {}, Date.now() - 302_000)).status).to.equal(401)
    expect((await post(body, {}, Date.now() + 302_000)).status).to.equal(401)
    expect(output).not.to.include('customer.created 9')
  })

  it('has a receiver that refuses a delivery under another id [HOOK-81]', async () => {
    const body = '{"event":"customer.created","data":{"id":9}}'
    expect((await post(body, { 'webhook-id': 'outra' })).status).to.equal(401)
    expect(output).not.to.include('customer.created 9')
  })

  it('has a receiver that detects duplicates and gaps [HOOK-15]', async () => {
    const body = '{"event":"customer.created","data":{"id":9}}'
    expect((await post(body, { 'X-Service-Sequence': '7' })).status).to.equal(204)
    expect((await post(body, { 'X-Service-Sequence': '7' })).status).to.equal(204)
    await until(() => output.includes('copied came again'))
    expect(output.match(/customer\.created 9/g)).to.have.length(1)
    expect(output).to.include('missing 2 to 6')
  })

  it('shows the health of an endpoint [HOOK-71]', async () => {
    const { attempts, success_rate } = JSON.parse(await script(3))
    expect(attempts).to.be.at.least(1)
    expect(success_rate).to.equal('100.00')
  })

  it('catches up by a replay [HOOK-26]', async () => {
    expect(JSON.parse(await script(4))).to.include({ status: 'running', after: -1 })
  })

  it('verifies with either secret during a rotation, by headers of any class and case [HOOK-15]', async () => {
    expect(await script(5)).to.equal('whsec_\n')
    const next = (await guide.readJson<Shown>('rotated.json')).data.secret
    const { isAuthentic } = await import(pathToFileURL(join(guide.directory, 'verify.ts')).href)
    const now = Date.now()
    const secrets = { secret, next_secret: next, switch_at: new Date(now + 60_000).toISOString() }
    const delivery = { id: 'x', event: 'customer.created', revision: 1, sequence: 1, body: '{"ação":1}' }
    const signed = Object.entries(deliveryHeaders(delivery, secrets, now)).map(([name, value]) => [
      name.toLowerCase(),
      value,
    ])
    const body = Buffer.from(delivery.body)
    const verify = (own: string) => isAuthentic(Object.fromEntries(signed), body, own)
    const sent = deliveryHeaders(delivery, secrets, now)
    const signatures = sent['webhook-signature']?.split(' ')
    for (const headers of [
      sent,
      new Headers(sent),
      new Map(Object.entries(sent)),
      Object.fromEntries(Object.entries(sent).map(([name, value]) => [name.toUpperCase(), value])),
      { ...sent, 'webhook-signature': signatures },
    ])
      expect([secret, `${next}\n`].map((own) => isAuthentic(headers, body, own))).to.deep.equal([true, true])
    expect([secret, next, `whsec_${Buffer.alloc(32).toString('base64')}`].map(verify)).to.deep.equal([
      true,
      true,
      false,
    ])
  })
})
