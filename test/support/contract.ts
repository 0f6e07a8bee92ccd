import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import { expect } from 'chai'
import type { oas31 } from 'zod-openapi'
import { V1_ROUTES } from '#api/api-v1.ts'
import { createContract } from '#api/contract/contract-document.ts'
import type { ProblemCode } from '#http/problems.ts'

// The package is CommonJS, but its types declare a default export.
const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => void

/** HTTP response, with the same shape as in test/support/api.ts, which checks every answer against the contract. */
interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

type Node = { readonly [member: string]: Node } & { readonly $ref?: string }

export interface Operation {
  readonly id: string
  readonly method: string
  /** Path in the contract: `/sales/{id}/cancel`. */
  readonly path: string
  readonly node: oas31.OperationObject
}

/** The published contract, and a strict version for tests that refuses undocumented fields. */
export const contract = createContract(V1_ROUTES)
const strict = closed(contract) as unknown as Node

const ajv = new Ajv2020({
  ...{ strict: false, allErrors: true, validateSchema: false },
  // Schemas are compiled for a few answers each.
  ...{ inlineRefs: false, code: { optimize: false } },
})
addFormats(ajv)
ajv.addSchema(strict as object, 'contract')

/** All operations of the contract. */
export const operations: readonly Operation[] = Object.entries(contract.paths ?? {}).flatMap(([path, methods]) =>
  Object.entries(methods as Record<string, oas31.OperationObject>).map(([method, node]) => ({
    id: node.operationId ?? '',
    method: method.toUpperCase(),
    path,
    node,
  })),
)

/** Whether the response is a stream, which never ends. */
export const isStream = ({ node }: Operation): boolean =>
  'text/event-stream' in ((node.responses?.['200'] as { content?: object } | undefined)?.content ?? {})

/** Asserts that a response is documented for the operation: status, code, headers and body. */
export function expectDocumented(operation: Operation, reply: Reply): void {
  const title = `${operation.id} answered ${reply.status} ${reply.text.slice(0, 300)}`
  const pointer = resolve(`${pointerOf(operation)}/responses/${reply.status}`)
  expect(pointer, `${title}\nwhich the contract does not know`).to.not.equal(null)
  const response = at(pointer as string) as Node
  expectHeaders(response, reply, title)
  if (!response.content) expect(reply.text, title).to.equal('')
  else expectValid(`${pointer}/content/application~1json/schema`, reply.body, title)
  const { error, meta } = (reply.body ?? {}) as { error?: Told; meta?: { errors?: Told[] } }
  for (const told of error ? [error] : (meta?.errors ?? [])) expectListed(response, told, title)
}

interface Told {
  readonly code: string
  readonly details?: object
}

/** The code is one of the answer's, and the details are those of the code. */
function expectListed({ 'x-error-codes': codes }: Node, { code, details = {} }: Told, title: string): void {
  expect(codes, title).to.include(code)
  const sets = (at('#/components/schemas/ErrorDetails/x-details-by-code') as unknown as DetailsByCode)[code] ?? [[]]
  const fits = sets.some((set) => {
    const needed = set.filter((name) => !name.endsWith('?'))
    const members = Object.keys(details)
    const allowed = set.map((name) => name.replace('?', ''))
    return needed.every((name) => members.includes(name)) && members.every((name) => allowed.includes(name))
  })
  expect(fits, `${title}\ndetails of ${code}: ${JSON.stringify(details)}`).to.equal(true)
}

type DetailsByCode = Readonly<Record<string, readonly (readonly string[])[]>>

/** Checks the answer to any request below /api/v1. The contract does not describe unknown paths and methods. */
export function expectDocumentedCall(method: string, pathAndQuery: string, reply: Reply): void {
  const [path = ''] = pathAndQuery.split('?')
  const found = matchers.find((each) => each.operation.method === method && each.pattern.test(path))
  if (found && reply.status !== 405) expectDocumented(found.operation, reply)
}

/** Fixed paths before parameters in the same position, as in the router. */
const matchers = [...operations]
  .sort((a, b) => (a.path < b.path ? -1 : 1))
  .map((operation) => ({ operation, pattern: new RegExp(`^${operation.path.replace(/\{\w+\}/g, '[^/]+')}$`) }))

function expectHeaders({ headers = {} as Node }: Node, reply: Reply, title: string): void {
  for (const name of Object.keys(headers)) {
    const pointer = resolve((headers[name] as Node).$ref ?? '') as string
    const { required } = at(pointer) as { required?: unknown }
    const text = reply.headers.get(name)
    if (text === null) {
      expect(required, `${title}\nwithout ${name}`).to.not.equal(true)
      continue
    }
    const schema = at(`${pointer}/schema`) as { type?: unknown }
    expectValid(`${pointer}/schema`, schema.type === 'integer' ? Number(text) : text, `${name} of ${title}`)
  }
}

/** Asserts that the contract accepts a request body. */
export function expectAcceptable(operation: Operation, body: unknown): void {
  const pointer = `${pointerOf(operation)}/requestBody/content/application~1json/schema`
  if (at(pointer)) expectValid(pointer, body, `the body of ${operation.id}`)
  else expect(body, `the body of ${operation.id}`).to.equal(undefined)
}

/** Asserts that an example of a component matches its schema. */
export const expectExample = (name: string, example: unknown): void =>
  expectValid(`#/components/schemas/${name}`, example, `the example of ${name}`)

/** Asserts that a webhook message is documented. */
export const expectDocumentedMessage = (event: string, body: unknown): void =>
  expectValid(`#/webhooks/${event}/post/requestBody/content/application~1json/schema`, body, `a message of ${event}`)

/** Error codes of the operation, and those of batch items as `item:<code>`. */
export function documentedCodes(operation: Operation): string[] {
  const statuses = Object.keys(operation.node.responses ?? {})
  const errors = statuses.filter((status) => status >= '400').flatMap((status) => codesAt(operation, status))
  const items = '207' in (operation.node.responses ?? {}) ? codesAt(operation, '207') : []
  return [...errors, ...items.map((code) => `item:${code}`)]
}

/** Success statuses of the operation, without 304, which every GET can answer. */
export const documentedSuccesses = ({ node }: Operation): string[] =>
  Object.keys(node.responses ?? {}).filter((status) => status < '300')

function codesAt(operation: Operation, status: string): ProblemCode[] {
  const pointer = resolve(`${pointerOf(operation)}/responses/${status}`) as string
  return (at(pointer) as Node)['x-error-codes'] as unknown as ProblemCode[]
}

const pointerOf = ({ path, method }: Operation): string =>
  `#/paths/${path.replaceAll('/', '~1')}/${method.toLowerCase()}`

/** Node of a JSON pointer, or undefined. */
function at(pointer: string): Node | undefined {
  const members = pointer.slice(2).split('/')
  return members.reduce((node: Node | undefined, member) => node?.[member.replaceAll('~1', '/')], strict)
}

/** The pointer itself, or that of the referenced component; null if it does not exist. */
function resolve(pointer: string): string | null {
  const node = at(pointer)
  return node ? (node.$ref ?? pointer) : null
}

const validators = new Map<string, ValidateFunction>()

function expectValid(pointer: string, value: unknown, title: string): void {
  const fragment = pointer.slice(1).split('/').map(encodeURIComponent).join('/')
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `contract#${fragment}` })
  validators.set(pointer, validate)
  if (!validate(value)) expect.fail(`${title}\n${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`)
}

/** Copy in which no object accepts undocumented fields. */
function closed(node: unknown): unknown {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map(closed)
  const copy = Object.fromEntries(Object.entries(node).map(([member, value]) => [member, closed(value)]))
  return 'properties' in copy && copy.type === 'object' ? { additionalProperties: false, ...copy } : copy
}
