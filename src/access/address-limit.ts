import { isIPv6 } from 'node:net'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Rate } from './quota.ts'

/** Addresses remembered at a time. Beyond them the longest known is forgotten, so that strangers cannot fill the memory. */
const KNOWN_ADDRESSES = 20_000

const WINDOW_SECONDS = 60

/** The limit of callers without a valid key. Per process: it protects the service, it is no contract. */
export interface AddressLimit {
  /** Counts a call; `limited` when it is one too many. */
  consume(address: string): Promise<Rate & { readonly limited: boolean }>
}

/** As many calls a minute as a company has. */
export function createAddressLimit(
  { perMinute }: { readonly perMinute: number },
  known = KNOWN_ADDRESSES,
): AddressLimit {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  /** In the order in which their minutes began. */
  const addresses = new Set<string>()

  async function remember(address: string): Promise<void> {
    addresses.delete(address)
    addresses.add(address)
    if (addresses.size <= known) return
    const [longest = ''] = addresses
    addresses.delete(longest)
    await limiter.delete(longest)
  }

  return {
    async consume(address) {
      const network = networkOf(address)
      const result = await limiter.consume(network).catch((refused: unknown) => {
        if (refused instanceof RateLimiterRes) return refused
        throw refused
      })
      if (result.isFirstInDuration) await remember(network)
      return {
        limited: result.consumedPoints > perMinute,
        limit: perMinute,
        remaining: Math.max(0, perMinute - result.consumedPoints),
        reset: Math.ceil((Date.now() + result.msBeforeNext) / 1000),
        retryAfter: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
      }
    },
  }
}

/** An address of IPv4, or the first half of one of IPv6: whoever has one of 2^64 neighbours has them all. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].slice(0, 4).join(':')
}
