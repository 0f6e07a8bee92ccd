import { expect } from 'chai'
import { PANEL } from '#panel/page-context.ts'
import type { Reply } from '../support/api.ts'

/** Internal details that responses must not contain: stack traces, paths, module names, SQL, errors of libraries. */
const INTERNAL =
  /\n\s+at |node_modules|node:internal|\.ts\b|\/src\/|\b(Type|Syntax|Range|Reference|Zod|Assertion)Error\b|\bE(CONN|PIPE|NOENT)|violates|syntax error|invalid input|out of range|Unexpected token|in JSON at position|\bselect .+ from\b/i

const REQUEST_ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/**
 * Asserts a regular response of the interface: no fault of the service, no internal details, an id, and an error in the
 * interface's own format. `path` is the requested one.
 */
export function expectAnswered(path: string, reply: Reply): void {
  const title = `${path.slice(0, 200)} answered ${reply.status} ${reply.text.slice(0, 300)}`
  expect(reply.status, title).to.be.within(200, 499)
  expect(reply.headers.get('x-request-id'), title).to.match(REQUEST_ID)
  if (reply.status < 400) return
  expect(reply.text, title).to.not.match(INTERNAL)
  expect(reply.headers.get('x-powered-by'), title).to.equal(null)
  if (reply.text === '') return
  const isPage = isPanel(path)
  expect(reply.headers.get('content-type'), title).to.equal(
    `${isPage ? 'text/html' : 'application/json'}; charset=utf-8`,
  )
  if (isPage) expect(reply.text, title).to.match(/^<!doctype html>.*<\/html>\s*$/is)
  else if (isSync(path)) expectSyncError(reply, title)
  else expectError(reply, title)
}

/** Matched like routes: below /api, but not API v1. */
const isSync = (path: string): boolean => /^\/api(?![^/?])(?!\/v1(?![^/?]))/i.test(path)

const isPanel = (path: string): boolean => `${path.split('?')[0]}/`.startsWith(`${PANEL}/`)

function expectError({ body, headers }: Reply, title: string): void {
  expect(body, title).to.have.all.keys('error')
  const { details, ...error } = body.error
  expect(error, title).to.have.all.keys('code', 'message', 'request_id')
  expect(error.code, title).to.match(/^[a-z_]+$/)
  expect(error.request_id, title).to.equal(headers.get('x-request-id'))
  if (details !== undefined) expect(details, title).to.be.an('object')
}

function expectSyncError({ body }: Reply, title: string): void {
  const { errors, ...rest } = body
  expect(rest, title).to.have.all.keys('success', 'message')
  expect(rest.success, title).to.equal(false)
  for (const messages of Object.values(errors ?? {})) expect(messages, title).to.be.an('array').that.is.not.empty
}
