import { expect } from 'chai'
import { cancelWaiting } from '#webhooks/endpoint-health.ts'
import { useDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { failing, idsOf, silent, useDispatchers } from './harness.ts'
import { addEndpoint, queue } from './outbox.ts'

describe('the dispatcher', () => {
  const database = useDatabase('withoutReadModel')
  const tests = useDispatchers(database)

  it('posts the message byte for byte and records the success', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.end('obrigado')
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    const [id] = await queue(tests.pool, endpoint)
    tests.dispatcher()
    const [delivery] = await tests.allAre('delivered')
    expect(receiver.received).to.have.length(1)
    expect(receiver.received[0]).to.include({ body: '{"event":"sale.completed","data":{"note":"ação"}}' })
    expect(receiver.received[0]!.headers).to.include({ 'x-service-delivery': id!, 'user-agent': 'Tillbook-Webhooks/1' })
    expect(delivery).to.deep.include({ id, tries: 1, next_attempt_at: null })
    expect(delivery!.attempts).to.have.length(1)
    expect(Object.keys(delivery!.attempts[0]!)).to.deep.equal(['at', 'status', 'duration_ms', 'error', 'response'])
    expect(delivery!.attempts[0]).to.include({ status: 200, error: null, response: 'obrigado' })
    expect(await tests.healthOf(endpoint)).to.include({ failing_since: null, no_response_since: null })
    const [hour] = await tests.hoursOf(endpoint)
    expect(hour).to.include({ attempts: 1, failures: 0, last_failure: null })
    expect(hour!.bucket).to.be.at.least(0)
  })

  it('schedules a failed delivery for a minute later, and does not retry before [HOOK-18]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint)
    tests.dispatcher()
    const [delivery] = await tests.attempted(1)
    const wait_ms = Date.parse(delivery!.next_attempt_at ?? '') - Date.parse(delivery!.attempts[0]!.at)
    // The test's random value is 0.5: half of the tenth.
    expect(wait_ms).to.be.within(63_000, 73_000)
    expect(delivery).to.include({ status: 'pending', tries: 1 })
    const health = await tests.healthOf(endpoint)
    expect(health!.failing_since).to.be.a('string')
    expect(health!.no_response_since).to.equal(null)
  })

  it('retries under the same id with a fresh signature, then marks it silent [HOOK-18, HOOK-19]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    const [id] = await queue(tests.pool, endpoint)
    tests.dispatcher({ retrySeconds: [0.1, 0.2, 1.5] })
    const [delivery] = await tests.allAre('failed')
    expect(idsOf(receiver.received)).to.deep.equal([id, id, id, id])
    const [first, last] = [receiver.received[0]!.headers, receiver.received[3]!.headers]
    expect(Number(last['x-service-timestamp'])).to.be.above(Number(first['x-service-timestamp']))
    expect(last['x-service-signature']).not.to.equal(first['x-service-signature'])
    expect(delivery).to.include({ tries: 4, next_attempt_at: null })
    expect(delivery!.attempts.map(({ error }) => error)).to.deep.equal(Array(4).fill('http_status'))
    const health = await tests.healthOf(endpoint)
    expect(Date.parse(health!.no_response_since ?? '')).to.be.above(Date.parse(health!.failing_since ?? ''))
    const hours = await tests.hoursOf(endpoint)
    const sum = (of: 'attempts' | 'failures') => hours.reduce((total, hour) => total + hour[of], 0)
    expect([sum('attempts'), sum('failures')]).to.deep.equal([4, 4])
    const { at, status, error } = delivery!.attempts[3]!
    expect(hours.map(({ last_failure }) => last_failure)).to.deep.include({ at, status, error, delivery_id: id })
  })

  it('keeps delivering to a silent endpoint, and marks it active again after a success [HOOK-19]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint)
    const dispatcher = tests.dispatcher({ retrySeconds: [0.01] })
    await tests.allAre('failed')
    const before = await tests.healthOf(endpoint)
    await queue(tests.pool, endpoint)
    dispatcher.wake()
    await until(async () => receiver.received.length === 4)
    await tests.allAre('failed')
    // Since the first failure, not the last one.
    expect(await tests.healthOf(endpoint)).to.deep.equal(before)
    receiver.answer = (_received, response) => response.writeHead(200).end()
    await queue(tests.pool, endpoint)
    dispatcher.wake()
    await tests.allAre('failed', 'delivered')
    expect(await tests.healthOf(endpoint)).to.include({ failing_since: null, no_response_since: null })
  })

  it('ignores failures of the former URL of an endpoint', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint)
    const dispatcher = tests.dispatcher({ retrySeconds: [0.01] })
    await tests.allAre('failed')
    await tests.pool.query(`update read.webhooks set watched_since = date_trunc('milliseconds', clock_timestamp())`)
    await queue(tests.pool, endpoint)
    dispatcher.wake()
    await until(async () => Date.parse((await tests.healthOf(endpoint))!.failing_since ?? '') >= (await watchedSince()))
    await tests.allAre('failed')
    expect(Date.parse((await tests.healthOf(endpoint))!.no_response_since ?? '')).to.be.at.least(await watchedSince())
  })

  const watchedSince = async () => {
    const { rows } = await tests.pool.query<{ watched_since: string }>('select watched_since from read.webhooks')
    return Date.parse(rows[0]!.watched_since)
  }

  it('aborts an attempt that takes too long [HOOK-17]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = silent
    await queue(tests.pool, await addEndpoint(tests.pool, receiver.url))
    tests.dispatcher({ timeout_ms: 150 })
    const [delivery] = await tests.attempted(1)
    expect(delivery!.attempts[0]).to.include({ status: null, error: 'timeout' })
  })

  it('reports an endpoint that is gone, and sends nothing more to it [HOOK-21]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.writeHead(410).end()
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint)
    const { gone } = tests.dispatcher()
    await tests.allAre('failed')
    expect(gone.map(({ webhook_id }) => webhook_id)).to.deep.equal([endpoint.id])
    expect(receiver.received).to.have.length(1)
  })

  it('sends a test once, without effect on the endpoint health [HOOK-24]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = (_received, response) => response.writeHead(410).end()
    const endpoint = await addEndpoint(tests.pool, receiver.url)
    await queue(tests.pool, endpoint, 1, { test: true })
    const { gone } = tests.dispatcher({ retrySeconds: [0.01] })
    const [delivery] = await tests.allAre('failed')
    expect(delivery).to.include({ tries: 1 })
    expect(gone).to.deep.equal([])
    expect(await tests.healthOf(endpoint)).to.equal(null)
  })

  it('sends nothing to a disabled endpoint, and cancels its pending deliveries [HOOK-21]', async () => {
    const receiver = await tests.receiver()
    const [on, off] = [await addEndpoint(tests.pool, receiver.url), await addEndpoint(tests.pool, receiver.url)]
    await tests.pool.query('update read.webhooks set enabled = false where id = $1', [off.id])
    const [sent] = await queue(tests.pool, on)
    await queue(tests.pool, off, 3)
    tests.dispatcher()
    await until(() => receiver.received.length > 0)
    expect(await cancelWaiting(tests.pool)).to.equal(3)
    const deliveries = await tests.allAre('delivered', 'cancelled')
    expect(deliveries.filter(({ status }) => status === 'cancelled')).to.have.length(3)
    expect(idsOf(receiver.received)).to.deep.equal([sent])
  })

  it('keeps the newest twenty attempts of a delivery [HOOK-27]', async () => {
    const receiver = await tests.receiver()
    receiver.answer = failing
    await queue(tests.pool, await addEndpoint(tests.pool, receiver.url))
    tests.dispatcher({ retrySeconds: Array(22).fill(0.001) })
    const [delivery] = await tests.allAre('failed')
    expect(delivery).to.include({ tries: 23 })
    expect(receiver.received).to.have.length(23)
    expect(delivery!.attempts).to.have.length(20)
    const times = delivery!.attempts.map(({ at }) => at)
    expect(times).to.deep.equal(times.toSorted())
  })
})
