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

/** An address of IPv4, or the first half of one of IPv6: whoever has one of 2^64 neighbours has them all. */
export function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}
