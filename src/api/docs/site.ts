import type { oas31 } from 'zod-openapi'
import { ERROR_COMPONENTS } from '../contract/contract-errors.ts'
import { isEnvelope } from '../contract/generators.ts'
import { type DocumentedOperation, operationsOf } from './docs-operation.tsx'
import { nameOfRef, type Schema } from './docs-schema.tsx'

/** A contract, and where it is published. */
export interface PublishedContract {
  readonly contract: oas31.OpenAPIObject
  /** Path of its OpenAPI document. */
  readonly path: string
  /** Variable of a shell that holds the credential. */
  readonly credential: 'KEY' | 'TOKEN'
}

/** A group of operations with a page of its own. */
export interface Resource extends PublishedContract {
  readonly name: string
  readonly about: string
  /** Path of its page. */
  readonly page: string
  readonly operations: readonly DocumentedOperation[]
  /** Objects that its requests and answers refer to, except errors and envelopes, which stand with the operations. */
  readonly objects: readonly (readonly [name: string, schema: Schema])[]
}

/** What /docs shows. */
export interface Site {
  /** URL of the service. */
  readonly publicUrl: string
  readonly contracts: readonly PublishedContract[]
  readonly resources: readonly Resource[]
}

export function siteOf(publicUrl: string, published: readonly PublishedContract[]): Site {
  const contracts = published.map(withInlineLists)
  return { publicUrl: publicUrl.replace(/\/+$/, ''), contracts, resources: contracts.flatMap(resourcesOf) }
}

/** The pages show the values of a list with each field: they are components for generators only. */
function withInlineLists(published: PublishedContract): PublishedContract {
  const schemas = (published.contract.components?.schemas ?? {}) as Record<string, Schema>
  const inlined = <T>(node: T): T => {
    if (Array.isArray(node)) return node.map(inlined) as T
    if (typeof node !== 'object' || node === null) return node
    const list = '$ref' in node ? schemas[nameOfRef(String(node.$ref))]?.enum : undefined
    if (list) return { ...node, $ref: undefined, type: 'string', enum: list.filter((value) => value !== '') }
    return Object.fromEntries(Object.entries(node).map(([member, value]) => [member, inlined(value)])) as T
  }
  const { components, ...rest } = inlined(published.contract)
  const objects = Object.fromEntries(Object.entries(components?.schemas ?? {}).filter(([name]) => !schemas[name]?.enum))
  return { ...published, contract: { ...rest, components: { ...components, schemas: objects } } }
}

/** `Notificações de pagamento` → `notificacoes-de-pagamento`. */
const slugOf = (name: string): string => name.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase().replaceAll(' ', '-')

function resourcesOf(published: PublishedContract): Resource[] {
  const { contract } = published
  const operations = operationsOf(contract)
  return (contract.tags ?? []).map(({ name, description = '' }) => {
    const own = operations.filter(({ operation }) => operation.tags?.includes(name))
    return {
      ...published,
      name,
      about: description,
      page: `/docs/recursos/${slugOf(name)}`,
      operations: own,
      objects: objectsOf(own, contract),
    }
  })
}

/** Components that operations refer to, also indirectly, in the order of the contract. */
function objectsOf(operations: readonly DocumentedOperation[], { components }: oas31.OpenAPIObject) {
  const schemas = (components?.schemas ?? {}) as Record<string, Schema>
  const named = new Set<string>()
  const collect = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const ref = '$ref' in node ? String(node.$ref) : ''
    const name = nameOfRef(ref)
    if (ref.includes('/schemas/') && !named.has(name) && !isErrorObject(name)) {
      named.add(name)
      collect(schemas[name])
    }
    for (const value of Object.values(node)) collect(value)
  }
  for (const { operation } of operations) collect([operation.requestBody, operation.responses])
  return Object.entries(schemas).filter(([name]) => named.has(name) && !isEnvelope(name))
}

const isErrorObject = (name: string): boolean => name === 'Failure' || ERROR_COMPONENTS.includes(name)

/** Path of an operation below the root of the service. */
export function pathOf({ contract }: PublishedContract, path: string): string {
  const { pathname } = new URL(contract.servers?.[0]?.url ?? '/', 'http://localhost')
  return `${pathname.replace(/\/+$/, '')}${path}`
}

/** Page and anchor of an object. */
export const pageOfObject = ({ resources }: Site, name: string): string =>
  resources.find(({ objects }) => objects.some(([object]) => object === name))?.page ?? ''
