import { expect } from 'chai'
import { createUser } from '#commands/user-commands.ts'
import type { Role } from '#domain/rights.ts'
import { type Json, type Reply, send, type TestCompany } from './api.ts'
import { cheapHash } from './passwords.ts'
import { expectDocumentedTillCall } from './till-contract.ts'

/** A user of a company, with credentials. */
export interface TestUser {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly password: string
  readonly companyId: number
}

/** A logged-in user and requests with its token. Paths are below /api. */
export interface TestTill {
  readonly user: TestUser
  readonly token: string
  call(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>
  get(path: string): Promise<Reply>
  post(path: string, body?: unknown): Promise<Reply>
}

const PASSWORD = 'senha correta'

const passwordHash = cheapHash(PASSWORD)
let users = 0

export async function createTestUser(company: TestCompany, role: Role = 'clerk'): Promise<TestUser> {
  const email = `caixa${++users}@loja.example`
  const fields = { name: `Operador ${users}`, email, role }
  const { id } = await company.run(createUser, { ...fields, password_hash: await passwordHash })
  return { id, name: fields.name, email, password: PASSWORD, companyId: company.id }
}

/** `POST /api/auth/login` */
export const logIn = (
  url: string,
  { email, password }: { email: string; password: string },
  headers: Record<string, string> = {},
): Promise<Reply> => checked('POST', '/auth/login', send(`${url}/api/auth/login`, 'POST', { email, password }, headers))

/** Asserts that the contract describes an answer. */
async function checked(method: string, path: string, answering: Promise<Reply>): Promise<Reply> {
  const reply = await answering
  expectDocumentedTillCall(method, path, reply)
  return reply
}

/** Requests with a token, to any service on the same database. */
export function tillWith(url: string, user: TestUser, token: string): TestTill {
  const call: TestTill['call'] = (method, path, body, headers) =>
    checked(method, path, send(`${url}/api${path}`, method, body, { authorization: `Bearer ${token}`, ...headers }))
  return { user, token, call, get: (path) => call('GET', path), post: (path, body) => call('POST', path, body) }
}

/** Logs in as a user of the company; creates one if none is given. */
export async function openTill(url: string, company: TestCompany, user?: TestUser): Promise<TestTill> {
  const who = user ?? (await createTestUser(company))
  const reply = await logIn(url, who)
  expect(reply.status, reply.text).to.equal(200)
  return tillWith(url, who, reply.body.data.token)
}

/** Asserts an error of the till sync, and returns its errors by field, if any. */
export function expectFailure(reply: Reply, status: number, message?: RegExp): Json {
  expect(reply.status, reply.text).to.equal(status)
  const { success, errors, ...rest } = reply.body
  expect(success).to.equal(false)
  expect(Object.keys(rest)).to.deep.equal(['message'])
  expect(rest.message).to.match(message ?? /./)
  expect(reply.headers.get('content-type')).to.equal('application/json; charset=utf-8')
  expect(reply.headers.get('x-request-id')).to.match(/^[0-9a-f-]{36}$/)
  expect(reply.headers.get('www-authenticate')).to.equal(status === 401 ? 'Bearer' : null)
  for (const messages of Object.values(errors ?? {})) expect(messages).to.be.an('array').that.is.not.empty
  return errors
}
