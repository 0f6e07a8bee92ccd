import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { MAX_BODY_BYTES } from '#api/api-route.ts'
import { expectInvalid, expectProblem } from '../../support/answers.ts'
import { JSON_TYPE, useCaller, WRITES } from './caller.ts'

describe('errors of API v1: body', () => {
  const { company, raw } = useCaller()

  const customers = async () => (await company.get('/customers?limit=200')).body.data

  it('of invalid JSON is 400 malformed_json on every route with a body [HTTP-4]', async () => {
    for (const [method, path] of WRITES) {
      expect(expectProblem(await company.call(method, path, '{'), 400, 'malformed_json')).to.equal(undefined)
    }
  })

  it('is parsed strictly as JSON [HTTP-4]', async () => {
    for (const body of [
      '{"name": "Ana",}',
      "{'name': 'Ana'}",
      '{name: "Ana"}',
      '{"name": "Ana"} x',
      '{"name": NaN}',
      '{"name": undefined}',
      '{"name": "A\nna"}',
      '{"name": "\\x41"}',
      '// Ana\n{"name": "Ana"}',
      'name=Ana',
      ' ',
      '\u0000',
    ]) {
      expectProblem(await company.post('/customers', body), 400, 'malformed_json')
    }
  })

  it('with a member twice is 400 malformed_json, at every depth [HTTP-44]', async () => {
    const before = await customers()
    for (const body of [
      '{"name":"Ana","name":"Bia"}',
      '{"name":"Ana","n\\u0061me":"Bia"}',
      '{"name":"Ana","address":{"city":"Santos","city":"Santos"}}',
    ]) {
      expect(expectProblem(await company.post('/customers', body), 400, 'malformed_json')).to.deep.equal({
        reason: 'repeated_member',
      })
    }
    expectProblem(await company.post('/sales', '{"items":[{"quantity":"1","quantity":"2"}]}'), 400, 'malformed_json')
    expect(await customers()).to.deep.equal(before)
  })

  it('of invalid UTF-8 is 400, instead of recording other characters [HTTP-4]', async () => {
    const latin1 = Buffer.from('{"name": "João"}', 'latin1')
    expectProblem(await raw('POST', '/customers', JSON_TYPE, latin1), 400, 'malformed_json')
    const utf16 = Buffer.from('{"name": "João"}', 'utf16le')
    expectProblem(await raw('POST', '/customers', JSON_TYPE, utf16), 400, 'malformed_json')
    const cut = Buffer.from('{"name": "João"}').subarray(0, 13)
    expectProblem(
      await raw('POST', '/customers', JSON_TYPE, Buffer.concat([cut, Buffer.from('"}')])),
      400,
      'malformed_json',
    )
  })

  it('other than an object is 422', async () => {
    for (const [method, path] of WRITES) {
      for (const body of ['[]', '"x"', '1', 'null', 'true', '[{"name": "Ana"}]']) {
        expectInvalid(await company.call(method, path, body), ['body'])
      }
    }
  })

  it('may be absent if nothing is required, else is 422 naming the missing fields', async () => {
    const { id } = (await company.post('/customers', { name: 'Sem corpo' })).body.data
    expect((await company.call('PATCH', `/customers/${id}`)).status).to.equal(200)
    expectInvalid(await company.call('POST', '/customers'), ['name'])
    expectInvalid(await company.call('POST', '/sales'), ['items', 'payments'])
    expectInvalid(await company.call('POST', '/customers/batch'), ['items'])
    expect((await raw('DELETE', `/customers/${id}`, JSON_TYPE)).status).to.equal(204)
  })

  it('of exactly 1 MB is accepted, and of one more byte is 413 [HTTP-7]', async () => {
    const padded = (size: number, name: string) => JSON.stringify({ name }).padEnd(size, ' ')
    expect((await company.post('/customers', padded(MAX_BODY_BYTES, 'Um mega'))).status).to.equal(201)
    expect(MAX_BODY_BYTES).to.equal(1_048_576)
    expectProblem(await company.post('/customers', padded(MAX_BODY_BYTES + 1, 'Grande')), 413, 'payload_too_large')
    const bytes = Buffer.alloc(MAX_BODY_BYTES + 1, ' ')
    expectProblem(await raw('POST', '/customers', JSON_TYPE, bytes, true), 413, 'payload_too_large')
    const exact = padded(MAX_BODY_BYTES, 'Aos poucos')
    expect((await raw('POST', '/customers', JSON_TYPE, exact, true)).status).to.equal(201)
  })

  it('is measured in bytes, not in characters [HTTP-7]', async () => {
    const wide = JSON.stringify({ name: 'x', notes: 'é'.repeat(MAX_BODY_BYTES / 2) })
    expect(wide.length).to.be.below(MAX_BODY_BYTES)
    expectProblem(await company.post('/customers', wide), 413, 'payload_too_large')
  })

  it('requires the content type application/json in UTF-8 [HTTP-7]', async () => {
    const ask = (type?: string) => raw('POST', '/customers', type === undefined ? {} : { 'content-type': type }, '{}')
    for (const type of [
      undefined,
      '',
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      'application/json; charset=iso-8859-1',
      'application/json; charset=utf-16',
      'application/json; charset=',
      'application/json; charset=utf-7; charset=utf-8',
      'application/json, application/json',
      'xapplication/json',
    ]) {
      expectProblem(await ask(type), 415, 'unsupported_media_type')
    }
    for (const type of [
      'application/json',
      'APPLICATION/JSON',
      'application/json;charset=utf-8',
      'application/json; charset=UTF-8',
      'application/json; charset="utf-8"',
      'application/json; charset=utf8',
      'application/json;charset=UTF8',
      'application/json; charset="Utf8"',
      "application/json; charset='utf-8'",
      'application/json; charset=utf_8',
      'application/json ; charset = utf8 ;',
      'application/json;',
      'application/json; odata.metadata=minimal; charset=utf8',
    ]) {
      expectInvalid(await ask(type), ['name'])
    }
  })

  it('may be compressed, and is measured decompressed [HTTP-7]', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
    const small = await raw('POST', '/customers', headers, gzipSync('{"name": "Comprimida"}'))
    expect(small.status).to.equal(201)
    const bomb = gzipSync(Buffer.alloc(20 * MAX_BODY_BYTES, ' '))
    expect(bomb.length).to.be.below(50_000)
    expectProblem(await raw('POST', '/customers', headers, bomb), 413, 'payload_too_large')
    expectProblem(await raw('POST', '/customers', headers, '{"name": "x"}'), 400, 'malformed_json')
  })

  it('in an unknown encoding is 415 [HTTP-7]', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'rot13' }
    expectProblem(await raw('POST', '/customers', headers, '{}'), 415, 'unsupported_media_type')
  })

  it('changes nothing when refused [HTTP-11]', async () => {
    const before = await customers()
    for (const body of ['{', '{"name": 1}', '{"name": "Ana", "x": 1}']) await company.post('/customers', body)
    expect(await customers()).to.deep.equal(before)
  })
})
