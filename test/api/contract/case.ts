import { expect } from 'chai'
import type { Operation } from '../../support/contract.ts'
import type { World } from './world.ts'

/** A call of an operation: what its path, query, body and headers are. */
export interface Call {
  readonly params?: Readonly<Record<string, string | number>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** Of another company than the world's own. */
  readonly key?: string
}

/** Prepares what an outcome needs, and says the call that has it. */
export type Case = (world: World) => Call | Promise<Call>

/**
 * By operation, then by outcome: the status of a success (`201`), the code of a refusal (`duplicate_resource`), or the code
 * with which an item of a batch is refused (`item:duplicate_resource`). What every operation refuses alike is in edge.ts.
 */
export type Cases = Readonly<Record<string, Readonly<Record<string, Case>>>>

/** The path of a call, below /api/v1. */
export function pathOf({ path }: Operation, { params = {}, query = {} }: Call): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    expect(params, path).to.have.property(name)
    return encodeURIComponent(params[name] ?? '')
  })
  const search = new URLSearchParams(query).toString()
  return search === '' ? filled : `${filled}?${search}`
}
