import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'
import { buildConnector } from 'undici'

/** Longest URL of an endpoint, in UTF-16 units. */
const MAX_URL_LENGTH = 2000

/** All public IPv6 addresses (RFC 4291); the rest contains IPv4-compatible and other special forms. */
const GLOBAL_UNICAST = ipaddr.IPv6.parseCIDR('2000::/3')

/**
 * IPv4 networks that look public but are routed inside a cloud only. Metadata services of other clouds have
 * private addresses: link-local (169.254.169.254), shared (Alibaba's 100.100.100.200), reserved
 * (192.0.0.192, of Oracle's first cloud) and unique local (fd00:ec2::254 of AWS, fd20:ce::254 of Google, fd00:a9fe:a9fe::1 of Linode).
 */
const CLOUD_NETWORKS = [
  // Azure: DHCP, DNS, health probes, and the agent of machines, which gives out their certificates.
  '168.63.129.16/32',
  // IBM Cloud: DNS, time and mirrors of packages; private endpoints of its services.
  '161.26.0.0/16',
  '166.8.0.0/14',
].map((network) => ipaddr.IPv4.parseCIDR(network))

/** Names of this machine (RFC 6761). */
const LOCAL_NAME = /(^|\.)localhost\.?$/

/**
 * Problem of a callback URL as a field message in Brazilian Portuguese; null if it is acceptable. Without
 * `allowPrivate` it must be https and must not name a private network literally; resolved addresses are checked at each
 * connection.
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

/** Whether `address` (IPv4 or IPv6, without a zone) is public: not private, local, shared, reserved, tunnelled or internal to a cloud. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false
  // IPv4-mapped IPv6 (::ffff:10.0.0.1) is judged as IPv4.
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast') return false
  if (parsed instanceof ipaddr.IPv4) return !CLOUD_NETWORKS.some((network) => parsed.match(network))
  return parsed.match(GLOBAL_UNICAST)
}

/** The literal address of a URL's host, without IPv6 brackets; null for a name. */
function literalAddress(hostname: string): string | null {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return ipaddr.isValid(bare) ? bare : null
}

/** Null unless the text is an absolute http(s) URL as written; the parser would repair slashes and drop line ends. */
function parse(url: string): URL | null {
  if (!/^https?:\/\/[^/\\]/i.test(url) || /[\s\p{Cc}\p{Surrogate}]/u.test(url)) return null
  const target = URL.canParse(url) ? new URL(url) : null
  // Port 0 cannot be listened on.
  return target?.port === '0' ? null : target
}

function isPrivateHost(hostname: string): boolean {
  const literal = literalAddress(hostname)
  return literal === null ? LOCAL_NAME.test(hostname) : !isPublicAddress(literal)
}

/** The target is in a private or local network. */
export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress'
}

/** All addresses of a name, IPv4 and IPv6. */
export type Resolve = (hostname: string) => Promise<string[]>

type Connector = ReturnType<typeof buildConnector>

const DNS_TIMEOUT_MS = 2_000
const DNS_TRIES = 2

/** Connects to any address, including this machine and private networks. */
export function createConnector(timeout_ms: number): Connector {
  return buildConnector({ timeout: timeout_ms, autoSelectFamily: true })
}

/**
 * Connects to public addresses only. The checked address is the connected one: literals, the addresses of the
 * connection's own DNS look-up, and finally the socket's peer, so that DNS rebinding gains nothing.
 */
export function createPublicConnector(timeout_ms: number, resolve: Resolve = createResolve()): Connector {
  const connect = buildConnector({ timeout: timeout_ms, autoSelectFamily: true, lookup: publicLookup(resolve) })
  return (options, callback) => {
    const literal = literalAddress(options.hostname)
    if (literal !== null && !isPublicAddress(literal)) {
      // Called after this function has returned: the caller does not expect a synchronous answer.
      queueMicrotask(() => callback(new PrivateAddress(), null))
      return
    }
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null)
      if (isPublicAddress(socket.remoteAddress ?? '')) return callback(null, socket)
      socket.destroy()
      callback(new PrivateAddress(), null)
    })
  }
}

/** @throws PrivateAddress if a name has addresses but no public one */
function publicLookup(resolve: Resolve): LookupFunction {
  const lookUp = async (hostname: string) => {
    const addresses = (await resolve(hostname)).filter(isPublicAddress)
    const [first] = addresses
    if (first === undefined) throw new PrivateAddress()
    return { first, addresses }
  }
  return (hostname, { all }, callback) => {
    lookUp(hostname).then(
      ({ first, addresses }) => {
        if (all)
          callback(
            null,
            addresses.map((address) => ({ address, family: isIP(address) })),
          )
        else callback(null, first, isIP(first))
      },
      (error) => callback(error, ''),
    )
  }
}

/**
 * Queries the name servers directly: getaddrinfo would block one of the few threads of the process, which also hash
 * passwords and read files.
 */
function createResolve(): Resolve {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: DNS_TRIES })
  return async (hostname) => {
    const [v4, v6] = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)])
    // A name without an IPv6 address yields an error.
    if (v4.status === 'rejected' && v6.status === 'rejected') throw v4.reason
    return [v4, v6].flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  }
}
