import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import { expect } from 'chai'
import type { oas31 } from 'zod-openapi'
import { createTillContract } from '#service/contracts.ts'

// The package is CommonJS, but its types declare a default export.
const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => void

interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: unknown
}

interface Answer {
  readonly headers?: Readonly<Record<string, { readonly $ref?: string; readonly required?: boolean }>>
  readonly content?: Readonly<
    Record<string, { readonly examples?: Readonly<Record<string, { value: { message: string } }>> }>
  >
}

export interface TillOperation {
  readonly id: string
  readonly method: string
  /** Path in the contract: `/api/sync/status`. */
  readonly path: string
  readonly node: oas31.OperationObject
}

/** The published contract of the sync interface and the receiver of payment notifications. */
export const tillContract = createTillContract()

export const tillOperations: readonly TillOperation[] = Object.entries(tillContract.paths ?? {}).flatMap(
  ([path, methods]) =>
    Object.entries(methods as Record<string, oas31.OperationObject>).map(([method, node]) => ({
      id: node.operationId ?? '',
      method: method.toUpperCase(),
      path,
      node,
    })),
)

const ajv = new Ajv2020({
  ...{ strict: false, allErrors: true, validateSchema: false },
  // Schemas are compiled for a few answers each.
  ...{ inlineRefs: false, code: { optimize: false } },
})
addFormats(ajv)
ajv.addSchema(closed(tillContract) as object, 'till')
const validators = new Map<string, ValidateFunction>()

function expectValid(pointer: string, value: unknown, title: string): void {
  const fragment = pointer.split('/').map(encodeURIComponent).join('/')
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `till#${fragment}` })
  validators.set(pointer, validate)
  if (!validate(value)) expect.fail(`${title}\n${ajv.errorsText(validate.errors)}\n${JSON.stringify(value)}`)
}

const escaped = (name: string): string => name.replaceAll('/', '~1')
const referenced = (ref: string): unknown =>
  ref
    .slice(2)
    .split('/')
    .reduce((node: unknown, name) => (node as Record<string, unknown>)[name], tillContract)

/** The documented answer of a status, and its JSON pointer; undefined if there is none. */
function answerOf({ path, method, node }: TillOperation, status: number): [Answer, string] | undefined {
  const found = node.responses?.[String(status)] as (Answer & { $ref?: string }) | undefined
  if (found?.$ref) return [referenced(found.$ref) as Answer, found.$ref.slice(1)]
  return found && [found, `/paths/${escaped(path)}/${method.toLowerCase()}/responses/${status}`]
}

/** Asserts that an answer is documented for the operation: status, headers and body. */
export function expectDocumentedTillAnswer(operation: TillOperation, reply: Reply): void {
  const title = `${operation.id} answered ${reply.status} ${reply.text.slice(0, 300)}`
  const found = answerOf(operation, reply.status)
  if (!found) expect.fail(`${title}\nwhich the contract does not know`)
  const [answer, pointer] = found
  for (const [name, header] of Object.entries(answer.headers ?? {})) {
    const { required } = (header.$ref ? referenced(header.$ref) : header) as { required?: boolean }
    if (required) expect(reply.headers.get(name), `${title}\nwithout ${name}`).to.be.a('string')
  }
  expectValid(`${pointer}/content/application~1json/schema`, reply.body, title)
}

/** Checks the answer to any request; the contract does not describe unknown paths and methods, nor HEAD. */
export function expectDocumentedTillCall(method: string, pathAndQuery: string, reply: Reply): void {
  const [path] = pathAndQuery.split('?')
  const operation = tillOperations.find((each) => each.method === method && each.path === `/api${path}`)
  if (operation && reply.status !== 405) expectDocumentedTillAnswer(operation, reply)
}

/** Asserts that the contract accepts a request body. */
export function expectAcceptedByTillContract({ path, method, node }: TillOperation, body: unknown): void {
  if (!node.requestBody) return
  const pointer = `/paths/${escaped(path)}/${method.toLowerCase()}/requestBody/content/application~1json/schema`
  expectValid(pointer, body, `the body of ${path}`)
}

/** Asserts that an example of a component matches its schema. */
export const expectTillExample = (name: string, example: unknown): void =>
  expectValid(`/components/schemas/${name}`, example, `the example of ${name}`)

/** The documented outcomes of an operation: `200`, and failures by the code of their example or error. */
export function tillOutcomes(operation: TillOperation): string[] {
  return Object.keys(operation.node.responses ?? {}).flatMap((status) => {
    const [answer] = answerOf(operation, Number(status)) as [Answer, string]
    if (status < '300') return status
    const { examples } = answer.content?.['application/json'] ?? {}
    if (examples) return Object.keys(examples)
    const { description } = answer as { description?: string }
    return [...(description ?? '').matchAll(/^`(\w+)`/gm)].map(([, code = '']) => code)
  })
}

/** Outcome of an answer, as named by `tillOutcomes`. */
export function tillOutcomeOf(operation: TillOperation, { status, body }: Reply): string {
  if (status < 300) return String(status)
  const { error, message } = body as { error?: { code: string }; message?: string }
  if (error) return error.code
  const [answer] = answerOf(operation, status) ?? [{} as Answer]
  const examples = Object.entries(answer.content?.['application/json']?.examples ?? {})
  return examples.find(([, { value }]) => value.message === message)?.[0] ?? `${status} ${message}`
}

/** Copy in which no object of an answer accepts undocumented fields. Requests ignore unknown ones. */
function closed(node: unknown, inRequest = false): unknown {
  if (typeof node !== 'object' || node === null) return node
  if (Array.isArray(node)) return node.map((each) => closed(each, inRequest))
  const copy = Object.fromEntries(
    Object.entries(node).map(([member, value]) => [member, closed(value, inRequest || member === 'requestBody')]),
  )
  return 'properties' in copy && copy.type === 'object' && !inRequest ? { additionalProperties: false, ...copy } : copy
}
