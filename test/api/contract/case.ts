import { expect } from 'chai'
import type { Operation } from '../../support/contract.ts'
import type { World } from './world.ts'

/** Call of an operation: path, query, body and headers. */
export interface Call {
  readonly params?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** Key of another company; default: the world's own. */
  readonly key?: string
}

/** Prepares an outcome, and returns the call that produces it. */
export type Case = (world: World) => Call | Promise<Call>

/**
 * By operation, then by outcome: the status of a success (`201`), the code of a refusal (`duplicate_resource`), or the
 * code of a refused item in a batch (`item:duplicate_resource`). Refusals common to all operations are in edge.ts.
 */
export type Cases = Readonly<Record<string, Readonly<Record<string, Case>>>>

/** Path of a call, below /api/v1. */
export function pathOf({ path }: Operation, { params = {}, query = {} }: Call): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    expect(params, path).to.have.property(name)
    return encodeURIComponent(params[name] ?? '')
  })
  const search = new URLSearchParams(query).toString()
  return search === '' ? filled : `${filled}?${search}`
}
