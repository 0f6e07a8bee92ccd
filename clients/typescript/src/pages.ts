import type { Client as FetchClient } from 'openapi-fetch'
import { ok } from './problem.ts'
import type { components, paths } from './schema.ts'

type Listing = { readonly data: readonly unknown[]; readonly meta: components['schemas']['PageMeta'] }

type AnswerOf<Path extends keyof paths> = paths[Path] extends {
  get: { responses: { 200: { content: { 'application/json': infer Answer } } } }
}
  ? Answer
  : never

/** Paths of paginated lists. */
export type ListPath = {
  [Path in keyof paths]: AnswerOf<Path> extends Listing ? Path : never
}[keyof paths]

/** A page: `data`, and `meta` with the instant of its state. */
export type Page<Path extends ListPath> = AnswerOf<Path>

type ParametersOf<Path extends ListPath> = paths[Path] extends { get: { parameters: infer Parameters } }
  ? Parameters
  : never
type PathOf<Path extends ListPath> = ParametersOf<Path> extends { path: infer Named } ? { path: Named } : object
type QueryOf<Path extends ListPath> = ParametersOf<Path> extends { query?: infer Query } ? { query?: Query } : object

/** Parameters of a list, as for `GET`. */
export interface PageInit<Path extends ListPath> {
  readonly params?: PathOf<Path> & QueryOf<Path>
  readonly signal?: AbortSignal
}

/** Calls needed for pages of any list. */
export type Calls = Pick<FetchClient<paths>, 'GET'>

/** A call with a path known at run time only. @throws TillbookError */
export function get(calls: Calls, path: string, init: object): Promise<unknown> {
  const call = calls.GET as unknown as (path: string, init: object) => Promise<{ data?: unknown; response: Response }>
  return ok(call(path, init))
}

/** Follows the cursor to the end. */
export async function* pagesOf<Path extends ListPath>(
  calls: Calls,
  path: Path,
  { params, signal }: PageInit<Path> = {},
): AsyncGenerator<Page<Path>> {
  const { query, ...named } = (params ?? {}) as { readonly query?: object }
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const asked = { ...named, query: { ...query, ...(cursor !== undefined && { cursor }) } }
    const page = (await get(calls, path, { params: asked, ...(signal && { signal }) })) as Listing
    yield page as Page<Path>
    cursor = page.meta.next_cursor
  }
}
