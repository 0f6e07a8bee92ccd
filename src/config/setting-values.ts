import { accessSync, constants } from 'node:fs'
import { isIP } from 'node:net'
import * as z from 'zod'
import { parseMasterKey } from '#crypto/master-keys.ts'
import { normalizePercentage, Percentage } from '#domain/money.ts'

// Formats of settings; a description says what is expected.

const numberAs = (format: RegExp, what: string) => (min: number, max: number) =>
  z
    .string()
    .regex(format)
    .transform(Number)
    .refine((value) => value >= min && value <= max)
    .describe(`${what} from ${min} to ${max}`)

export const integerSetting = numberAs(/^\d+$/, 'a whole number')
export const decimalSetting = numberAs(/^\d+(\.\d+)?$/, 'a number')

/** Kept as records keep it, with two decimals. */
export const percentageSetting = Percentage.transform(normalizePercentage).describe(
  'a percentage from 0 to 100 with up to two decimals, like 5 or 2.50',
)

/** A credential: without spaces, which a careless paste would add. */
export const visibleText = (longest: number) =>
  z
    .string()
    .regex(new RegExp(`^[!-~]{1,${longest}}$`))
    .describe(`up to ${longest} visible ASCII characters`)

export const pemFile = z
  .string()
  .refine((file) => isReadable(file))
  .describe('a PEM file that this process can read')

function isReadable(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

export const flag = z
  .enum(['true', 'false', '1', '0'])
  .transform((value) => value === 'true' || value === '1')
  .describe('true or false')

/** A base URL without trailing slashes. */
export const webAddressSetting = z
  .url({ protocol: /^https?$/ })
  .transform((url) => url.replace(/\/+$/, ''))
  .describe('an http or https URL')

/** Address of the service itself: its pages and paths begin at the root of a host. */
export const originSetting = webAddressSetting
  .refine((url) => url === new URL(url).origin)
  .describe('an http or https URL without user, path, query or fragment')

/** URL of an attestor; it is shown and logged, so it must not contain a secret. */
export const attestorUrl = webAddressSetting
  .refine((url) => {
    const { username, password, search, hash } = new URL(url)
    return `${username}${password}${search}${hash}` === ''
  })
  .describe('an http or https URL without user, password, query or fragment')

const MAX_WITNESSES = 16
const WITNESS = /^(\S+) +([^\s+]{1,200}\+[0-9a-f]{8}\+[A-Za-z0-9+/]{44})$/

export const witnesses = z
  .string()
  .transform((text, context) =>
    text.split(',').map((each) => {
      const [, url = '', vkey = ''] = WITNESS.exec(each.trim()) ?? []
      const parsed = attestorUrl.safeParse(url)
      if (parsed.success) return { url: parsed.data, vkey }
      context.addIssue('this is no witness')
      return z.NEVER
    }),
  )
  .refine((list) => list.length <= MAX_WITNESSES)
  .describe(
    `1 to ${MAX_WITNESSES} witnesses with commas, each its URL, a space and its verifier key (C2SP vkey, Ed25519)`,
  )

/** Bounds of a schedule: number of retries, and a week for each. */
const MAX_RETRIES = 15
const LONGEST_RETRY_SECONDS = 604_800

export const secondsList = z
  .string()
  .regex(/^\d+(\.\d+)?( *, *\d+(\.\d+)?)*$/)
  .transform((text) => text.split(',').map(Number))
  .refine((list) => list.length <= MAX_RETRIES && list.every((seconds) => seconds <= LONGEST_RETRY_SECONDS))
  .describe(
    `1 to ${MAX_RETRIES} numbers of seconds with commas, like "60,300,1800", each up to ${LONGEST_RETRY_SECONDS}`,
  )

/** Age after which an order is no longer polled at the provider. */
const LONGEST_SWEEP_SECONDS = 30 * 86_400
const MAX_SWEEPS = 50

export const ascendingSeconds = z
  .string()
  .regex(/^\d{1,7}( *, *\d{1,7})*$/)
  .transform((text) => text.split(',').map(Number))
  .refine((list) => list.length <= MAX_SWEEPS && list.every((at, n) => at >= (list[n - 1] ?? 0)))
  .refine((list) => list.every((at) => at <= LONGEST_SWEEP_SECONDS))
  .describe(`1 to ${MAX_SWEEPS} ascending numbers of seconds with commas, like "60,300,86400"`)

/** Roles of a process; any number of processes may share each of them on one database (src/service). */
export const PROCESS_ROLES = ['api', 'projector', 'dispatcher'] as const
export type ProcessRole = (typeof PROCESS_ROLES)[number]

export const roles = z
  .string()
  .transform((text) => text.split(',').map((name) => name.trim()))
  .pipe(z.array(z.enum(PROCESS_ROLES)))
  .transform((names): readonly ProcessRole[] => PROCESS_ROLES.filter((role) => names.includes(role)))
  .describe(`one or more of ${PROCESS_ROLES.join(', ')}, with commas`)

export const smtpUrl = z
  .url({ protocol: /^smtps?$/ })
  .describe('a URL like smtp://user:password@mail.example:587, or smtps:// for TLS from the beginning')

export const eventStoreUrl = z
  .string()
  .regex(/^(esdb|kurrentdb|kurrent)(\+discover)?:\/\//)
  .describe('a URL like esdb://host:2113?tls=false')

const NETWORKS = ['loopback', 'linklocal', 'uniquelocal']

function isNetwork(text: string): boolean {
  if (NETWORKS.includes(text)) return true
  const [address = '', bits, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128))
}

/** Express's setting: addresses and networks of proxies, or the number of proxies in front of the service. */
export const trustedProxies = z
  .string()
  .transform((text): string | number | boolean => {
    if (/^\d+$/.test(text)) return Number(text)
    return text === 'true' || (text !== 'false' && text)
  })
  .refine((trusted) => typeof trusted !== 'string' || trusted.split(',').every((part) => isNetwork(part.trim())))
  .describe('true, false, a number of proxies, or addresses and networks with commas, like "loopback, 10.0.0.0/8"')

const ONE_KEY = '32 random bytes, as base64 or hexadecimal'

function toSecret(text: string, context: z.core.$RefinementCtx): Buffer {
  const secret = parseMasterKey(text.trim())
  if (secret) return secret
  context.addIssue('this is no key')
  return z.NEVER
}

export const masterKey = z.string().transform(toSecret).describe(ONE_KEY)

export const masterKeys = z
  .string()
  .transform((text, context) => text.split(',').map((part) => toSecret(part, context)))
  .describe(`one or more keys with commas, each ${ONE_KEY}`)
