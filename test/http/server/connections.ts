import { expect } from 'chai'
import type { Reply, TestApi, TestCompany } from '../../support/api.ts'
import { OWN_DATABASE, useCompany } from '../../support/use-api.ts'
import { bytesOf, openWire, type Wire } from '../../support/wire.ts'

export const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** Asserts a response given before routing: in the format of API v1, with an id, and the last of its connection. */
export function expectRefusal(reply: Reply | undefined, status: number, code: string): void {
  expect(`${reply?.status} ${reply?.body?.error?.code}`, reply?.text).to.equal(`${status} ${code}`)
  expect(reply?.headers.get('x-request-id')).to.match(ID)
  expect(reply?.body.error.request_id).to.equal(reply?.headers.get('x-request-id'))
  expect(reply?.headers.get('connection')).to.equal('close')
}

export const JSON_TYPE = ['Content-Type', 'application/json'] as const

interface Connections {
  readonly api: TestApi
  readonly company: TestCompany
  /** Connection that is closed after the test. */
  wireTo(url: string): Promise<Wire>
  /** Header with the company's key. */
  key(): readonly [string, string]
  /** Request for /me. */
  me(): Buffer
  /** Request that creates a customer. */
  creating(name: string, headers?: readonly (readonly [string, string])[]): Buffer
}

/** Service, company, and raw connections. */
export function useConnections(): Connections {
  const { api, company } = useCompany(OWN_DATABASE)
  const wires: Wire[] = []

  afterEach(() => {
    for (const wire of wires.splice(0)) wire.close()
  })

  const key: Connections['key'] = () => ['Authorization', `Bearer ${company.key}`]
  return {
    api,
    company,
    async wireTo(url) {
      const wire = await openWire(url)
      wires.push(wire)
      return wire
    },
    key,
    me: () => bytesOf({ method: 'GET', path: '/api/v1/me', headers: [key()] }),
    creating: (name, headers = []) =>
      bytesOf({
        method: 'POST',
        path: '/api/v1/customers',
        headers: [key(), JSON_TYPE, ...headers],
        body: `{"name":"${name}"}`,
      }),
  }
}
