import ipaddr from 'ipaddr.js'

/** Longest URL of an address, in UTF-16 units. */
export const MAX_URL_LENGTH = 2000

/** All of IPv6 that is ever assigned to public hosts (RFC 4291); the rest holds IPv4-compatible and other odd forms. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/** Names that mean this machine wherever they are resolved (RFC 6761). */
const LOCAL_NAME = /(^|\.)localhost\.?$/

/**
 * What is wrong with a callback URL, as the message of its field in Brazilian Portuguese; null when deliveries may be
 * tried. Without `allowPrivate` it must be https and must not plainly point into a private network: what its name
 * resolves to is checked whenever a delivery connects.
 */
export function urlProblem(url: string, allowPrivate: boolean): string | null {
  if (url.length > MAX_URL_LENGTH) return `deve ter no máximo ${MAX_URL_LENGTH} caracteres`
  const target = parse(url)
  if (!target) return allowPrivate ? 'deve ser uma URL http ou https' : 'deve ser uma URL https'
  if (target.username !== '' || target.password !== '') return 'não pode conter usuário nem senha'
  if (url.includes('#')) return 'não pode conter fragmento (#)'
  if (allowPrivate) return null
  if (target.protocol !== 'https:') return 'deve usar https'
  return isPrivateHost(target.hostname) ? 'não pode apontar para uma rede privada ou local' : null
}

/** Whether `address` (IPv4 or IPv6, without a zone) is a public host's: no private, local, shared, reserved or tunnelled one. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // An IPv4 address in IPv6 clothes (::ffff:10.0.0.1) is judged by what it is.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  return parsed.kind() === 'ipv4' || parsed.match(GLOBAL_UNICAST)
}

/** The address that a URL's host is, without the brackets of IPv6; null for a name. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return ipaddr.isValid(bare) ? bare : null
}

/** Null for what is not written as one absolute http(s) URL; the parser itself would mend slashes and drop line ends. */
function parse(url: string): URL | null {
  if (!/^https?:\/\/[^/\\]/i.test(url) || /[\s\p{Cc}\p{Surrogate}]/u.test(url)) return null
  const target = URL.canParse(url) ? new URL(url) : null
  // Nobody can listen there.
  return target?.port === '0' ? null : target
}

function isPrivateHost(hostname: string): boolean {
  const literal = literalAddress(hostname)
  return literal === null ? LOCAL_NAME.test(hostname) : !isPublicAddress(literal)
}
