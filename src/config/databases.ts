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

/** One host per URL, because lag is tracked per server. */
const ONE_HOST = /^postgres(?:ql)?:\/\/[^,/?]+(?:[/?].*)?$/s

export const readUrls = z
  .string()
  .transform((text): readonly string[] => text.split(',').map((url) => url.trim()))
  .refine((urls) => urls.every((url) => ONE_HOST.test(url)) && new Set(urls).size === urls.length)
  .describe('URLs of replicas with commas, like "postgres://…,postgres://…", each once and with one host')
