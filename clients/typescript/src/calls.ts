import type { ClientPathsWithMethod, Client as FetchClient, FetchResponse, MaybeOptionalInit } from 'openapi-fetch'
import type { paths } from './schema.ts'

type Operation = Record<string | number, unknown>

/** Methods with a body. */
type BodyMethod = 'delete' | 'patch' | 'post' | 'put'

type PathOf<Method extends BodyMethod> = ClientPathsWithMethod<FetchClient<paths>, Method>

/** Members that any object of a type has. */
type MemberOf<Type> = Type extends object ? keyof Type : never
type ValueOf<Type, Member> = Type extends object ? (Member extends keyof Type ? Type[Member] : never) : never
type ElementOf<Type> = Type extends readonly (infer Element)[] ? Element : never

/** The given type, whose unknown members are `never`, at any depth. */
type Exact<Wanted, Given> = Given extends readonly (infer Element)[]
  ? readonly Exact<ElementOf<Wanted>, Element>[]
  : Given extends object
    ? {
        [Member in keyof Given]: Member extends MemberOf<Wanted> ? Exact<ValueOf<Wanted, Member>, Given[Member]> : never
      }
    : Given

type BodyOf<Init> = Init extends { body?: infer Body } ? Body : never

/** What a call takes, with a body without unknown members. */
type ExactInit<Init, Wanted> = Init & { body?: Exact<BodyOf<Wanted>, BodyOf<Init>> } & { [member: string]: unknown }

/** Like those of openapi-fetch: may be left out if nothing is required. */
type ExactInitParam<Init, Wanted> = undefined extends Init ? [ExactInit<Init, Wanted>?] : [ExactInit<Init, Wanted>]

/**
 * A call of openapi-fetch that refuses a body with a member that the operation does not have: the service refuses it too.
 * TypeScript alone finds such members only in literals, and openapi-fetch, whose calls infer the type of a body, in none.
 */
type ExactCall<Method extends BodyMethod> = <
  Path extends PathOf<Method>,
  Init extends MaybeOptionalInit<paths[Path], Method>,
>(
  url: Path,
  ...init: ExactInitParam<Init, MaybeOptionalInit<paths[Path], Method>>
) => Promise<FetchResponse<Extract<paths[Path][Method], Operation>, Init, `${string}/${string}`>>

/** Calls of openapi-fetch, those with a body exact. */
export interface ExactCalls extends Omit<FetchClient<paths>, Uppercase<BodyMethod> | 'request'> {
  POST: ExactCall<'post'>
  PUT: ExactCall<'put'>
  PATCH: ExactCall<'patch'>
  DELETE: ExactCall<'delete'>
}
