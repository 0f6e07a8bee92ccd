import { isIPv6 } from 'node:net'
import { type Counted, createMinuteLimit } from './minute-limit.ts'

/** Addresses remembered at a time. */
const KNOWN_ADDRESSES = 20_000

/** The limit of callers without a valid key. */
export interface AddressLimit {
  /** Counts a call; `limited` when it is one too many. */
  consume(address: string): Promise<Counted>
}

/** As many calls a minute as a company has. */
export function createAddressLimit(
  { perMinute }: { readonly perMinute: number },
  known = KNOWN_ADDRESSES,
): AddressLimit {
  const limit = createMinuteLimit({ perMinute, known })
  return { consume: (address) => limit.consume(networkOf(address)) }
}

/** Some proxies tell the port as well, as `192.0.2.1:4711` or `[2001:db8::1]:4711`: another one for every connection. */
const WITH_PORT = /^(?:([\d.]+)|\[(.+)\])(?::\d+)?$/
/** An address of IPv4 as a socket of IPv6 sees it. */
const MAPPED = /^::ffff:(?=[\d.]+$)/i

/** An address of IPv4, or the first half of one of IPv6: whoever has one of 2^64 neighbours has them all. */
export function networkOf(told: string): string {
  const [, v4, v6] = WITH_PORT.exec(told) ?? []
  const address = (v4 ?? v6 ?? told).replace(MAPPED, '')
  if (!isIPv6(address)) return address
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}
