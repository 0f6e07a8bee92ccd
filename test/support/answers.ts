import { expect } from 'chai'
import type { Json, Reply } from './api.ts'

/** A time as the API shows it: milliseconds and an offset, never `Z`. */
export const LOCAL_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}[+-]\d\d:\d\d$/

/** Asserts an error in the contract's shape, with its headers, and returns its details. */
export function expectProblem(reply: Reply, status: number, code: string): Json {
  expect(`${reply.status} ${reply.body?.error?.code}`, reply.text).to.equal(`${status} ${code}`)
  expect(Object.keys(reply.body)).to.deep.equal(['error'])
  const { details, ...error } = reply.body.error
  expect(error).to.have.all.keys('code', 'message', 'request_id')
  expect(error.message).to.be.a('string').that.is.not.empty
  expect(error.request_id).to.equal(reply.headers.get('x-request-id'))
  expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8')
  expectRate(reply)
  return details
}

/** A 422 that names just these fields as wrong, and just these as unknown. */
export function expectInvalid(reply: Reply, fields: readonly string[], unknown: readonly string[] = []): void {
  const details = expectProblem(reply, 422, 'validation_failed')
  expect(details).to.have.all.keys('fields', 'unknown_fields')
  expect(Object.keys(details.fields), reply.text).to.have.members(fields)
  expect(details.unknown_fields, reply.text).to.have.members(unknown)
  for (const messages of Object.values(details.fields)) expect(messages).to.be.an('array').that.is.not.empty
}

/** The X-RateLimit-* headers for requests; every answer has all three. */
export function expectRate(reply: Reply): { limit: number; remaining: number; reset: number } {
  const [limit, remaining, reset] = ['limit', 'remaining', 'reset'].map((name) => {
    const text = reply.headers.get(`x-ratelimit-${name}`)
    expect(text, `X-RateLimit-${name} of ${reply.status}`).to.match(/^\d+$/)
    return Number(text)
  }) as [number, number, number]
  expect(remaining).to.be.at.most(limit)
  return { limit, remaining, reset }
}

/** JSON text of the record in `{"data": <record>}`, for comparisons byte by byte. */
export function recordText(reply: Reply): string {
  // Reads and changes are 200, creations 201.
  expect(reply.status, reply.text).to.be.oneOf([200, 201])
  expect(reply.text.startsWith('{"data":{') && reply.text.endsWith('}}'), reply.text).to.equal(true)
  return reply.text.slice('{"data":'.length, -1)
}

/** Ids of a list, in order. */
export function idsIn(reply: Reply): number[] {
  expect(reply.status, reply.text).to.equal(200)
  return reply.body.data.map((record: Json) => record.id)
}

/** Fields and parameters of a contract without a description, each with its place. */
export function listUnexplained(document: Json): string[] {
  const unexplained = new Set<string>()
  const visit = (node: Json, trail: string): void => {
    if (typeof node !== 'object' || node === null) return
    if (node.in && node.name && !node.description) unexplained.add(`${trail}: ${node.name}`)
    for (const [name, field] of Object.entries<Json>(node.properties ?? {}))
      if (!field.description) unexplained.add(`${trail}: ${name}`)
    for (const [member, value] of Object.entries(node))
      if (!/^examples?$/.test(member)) visit(value, `${trail}/${member}`)
  }
  visit(document, '')
  return [...unexplained]
}
