import { isIPv6 } from 'node:net'

/** One server of a URL. */
export interface Host {
  /** Without the brackets of an IPv6 address. */
  readonly host: string
  readonly port: number
}

/** Kind of server that a URL requires, as in libpq (`target_session_attrs`). */
const WANTED = ['read-write', 'primary', 'standby', 'prefer-standby', 'any'] as const
export type TargetSession = (typeof WANTED)[number]

/** Whether the required server accepts writes. */
export const isWritable = (wanted: TargetSession): boolean => wanted === 'read-write' || wanted === 'primary'

export interface Hosts {
  /** At least one, without duplicates. */
  readonly all: readonly Host[]
  readonly wanted: TargetSession
  /** The URL for a single host, in the driver's syntax. */
  readonly urlOf: (host: Host) => string
}

const DEFAULT_PORT = 5432
const MAX_HOSTS = 16

/** Scheme with user and password, hosts, the rest, the query. */
const URL_PARTS = /^(postgres(?:ql)?:\/\/(?:[^/?#]*@)?)([^/?#@]*)([^?#]*)(?:\?([^#]*))?$/s
const HOST = /^(?:\[([^\]]+)\]|((?:[\w.-]|%[0-9a-f]{2})+))(?::(\d{1,5}))?$/i
const ATTRIBUTE = 'target_session_attrs'

/**
 * Parses a Postgres URL with several hosts or a required kind of server (OPS-112). Null for any other URL, which the
 * driver parses. @throws Error with the reason, without the URL.
 */
export function parseHosts(url: string): Hosts | null {
  const [, before = '', authority = '', path = '', query = ''] = URL_PARTS.exec(url) ?? []
  const parameters = query.split('&').filter((each) => each !== '')
  const asked = parameters.filter((each) => nameOf(each) === ATTRIBUTE).map((each) => each.slice(ATTRIBUTE.length + 1))
  if (parameters.some((each) => ['host', 'port'].includes(nameOf(each)) && /,|%2c/i.test(each)))
    throw new Error('several hosts stand before the path')
  if (!authority.includes(',') && (asked.length === 0 || asked[0] === 'any')) return null
  const [wanted = 'read-write'] = asked as TargetSession[]
  if (asked.length > 1 || !WANTED.includes(wanted)) throw new Error(`${ATTRIBUTE} is one of ${WANTED.join(', ')}`)
  const all = authority.split(',').map(parseHost)
  if (all.length > MAX_HOSTS || new Set(all.map(nameOfHost)).size < all.length)
    throw new Error(`a URL names 1 to ${MAX_HOSTS} hosts, each once`)
  const rest = parameters.filter((each) => nameOf(each) !== ATTRIBUTE).join('&')
  const urlOf = (host: Host) => `${before}${nameOfHost(host)}${path}${rest && `?${rest}`}`
  return { all, wanted, urlOf }
}

/**
 * Whether a URL leads to the server that accepts writes, or does not require a kind of server. @throws as `parseHosts`
 */
export function leadsToPrimary(url: string): boolean {
  const hosts = parseHosts(url)
  return hosts === null || isWritable(hosts.wanted)
}

/** `a:5432`, `[::1]:5432` */
export const nameOfHost = ({ host, port }: Host): string => `${host.includes(':') ? `[${host}]` : host}:${port}`

const nameOf = (parameter: string): string => parameter.split('=', 1)[0] as string

function parseHost(text: string): Host {
  const [, v6, name, port = String(DEFAULT_PORT)] = HOST.exec(text) ?? []
  const host = v6 ?? name
  if (host === undefined || (v6 !== undefined && !isIPv6(v6)) || Number(port) < 1 || Number(port) > 65_535)
    throw new Error('a host is a name or an address, IPv6 in brackets, with a port if it is not 5432')
  return { host, port: Number(port) }
}
