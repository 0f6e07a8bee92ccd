import * as z from 'zod'
import { leadsToPrimary } from '#postgres/hosts.ts'

// Settings with database URLs.

export const databaseUrl = z
  .string()
  .regex(/^postgres(ql)?:\/\//)
  .refine(isOfPrimary)
  .describe(
    'a URL like postgres://user:password@host:5432/database, several hosts with commas, target_session_attrs read-write or primary',
  )

/** Rejects URLs that select a replica: writes must not reach one. */
function isOfPrimary(url: string): boolean {
  try {
    return leadsToPrimary(url)
  } catch {
    return false
  }
}

/** Name of the default shard, that of `DATABASE_URL`. */
export const DEFAULT_SHARD = 'main'

/** An additional shard and its URL. */
export interface NamedUrl {
  readonly name: string
  readonly url: string
}

/** A URL may contain commas between hosts: another shard starts with a name and the scheme of a URL. */
const NEXT_NAME = /,\s*(?=[^,=]*=postgres)/
const NAMED_URL = /^([a-z][a-z0-9-]{0,30})=(postgres(?:ql)?:\/\/.+)$/s

export const namedUrls = z
  .string()
  .transform((text, context): readonly NamedUrl[] =>
    text.split(NEXT_NAME).map((each) => {
      const [, name = '', url = ''] = NAMED_URL.exec(each.trim()) ?? []
      if (name !== '' && name !== DEFAULT_SHARD) return { name, url }
      context.addIssue('this is no shard')
      return z.NEVER
    }),
  )
  .refine((all) => isDistinct(all.map(({ name }) => name)) && isDistinct(all.map(({ url }) => url)))
  .refine((all) => all.every(({ url }) => isOfPrimary(url)))
  .describe(
    'shards with commas, like "north=postgres://…,south=postgres://…", each name (a-z, 0-9, hyphens; not main) and each URL once',
  )

/** Read replicas by shard. */
export type ReadUrls = Readonly<Record<string, readonly string[]>>

const NEXT_READ_URL = /,\s*(?=(?:[^,=]*=)?postgres)/
const READ_URL = /^(?:([a-z][a-z0-9-]{0,30})=)?(postgres(?:ql)?:\/\/.+)$/s
/** One host per URL, because lag is tracked per server. */
const ONE_HOST = /^postgres(?:ql)?:\/\/[^,/?|]+(?:[/?][^|]*)?$/s

export const readUrls = z
  .string()
  .transform((text, context): ReadUrls => {
    const shards: Record<string, readonly string[]> = {}
    for (const each of text.split(NEXT_READ_URL)) {
      const [, name = DEFAULT_SHARD, list = ''] = READ_URL.exec(each.trim()) ?? []
      const urls = list.split('|').map((url) => url.trim())
      if (!urls.every((url) => ONE_HOST.test(url)) || Object.hasOwn(shards, name))
        context.addIssue('these are no replicas')
      shards[name] = urls
    }
    return shards
  })
  .refine((shards) => isDistinct(Object.values(shards).flat()))
  .describe(
    'replicas by shard, like "main=postgres://…|postgres://…,south=postgres://…" or one URL alone for main, each shard and each URL once, one host in each URL',
  )

const isDistinct = (all: readonly string[]): boolean => new Set(all).size === all.length
