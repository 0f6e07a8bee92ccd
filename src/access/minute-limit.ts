import { isIPv4, isIPv6 } from 'node:net'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Rate } from './api-authenticator.ts'

const WINDOW_SECONDS = 60

/** Maximum number of keys. Above it the oldest key is dropped, which bounds the memory. */
const KNOWN_KEYS = 20_000

interface MinuteLimitOptions {
  readonly perMinute: number
  /** Default 20,000. */
  readonly known?: number
}

/** State of a key in its minute; `limited` if the request exceeds the limit. */
export interface MinuteCount extends Rate {
  readonly limited: boolean
  /** Requests of this minute, including refused ones. */
  readonly used: number
}

/**
 * Counts per key, in minutes that begin with the key's first request. Per process: it protects the service and is not a
 * contract.
 */
export interface MinuteLimit {
  /** Counts a request. */
  consume(key: string): Promise<MinuteCount>
}

export function createMinuteLimit({ perMinute, known = KNOWN_KEYS }: MinuteLimitOptions): MinuteLimit {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  /** Ordered by the start of their minute. */
  const keys = new Set<string>()

  async function remember(key: string): Promise<void> {
    keys.delete(key)
    keys.add(key)
    const [longest = ''] = keys
    if (keys.size <= known) return
    keys.delete(longest)
    await limiter.delete(longest)
  }

  function counted(used: number, endsInMs: number, limited: boolean): MinuteCount {
    return {
      limited,
      used,
      limit: perMinute,
      remaining: Math.max(0, perMinute - used),
      reset: Math.ceil((Date.now() + endsInMs) / 1000),
      retryAfter: Math.max(1, Math.ceil(endsInMs / 1000)),
    }
  }

  return {
    async consume(key) {
      const { consumedPoints, msBeforeNext, isFirstInDuration } = await limiter.consume(key).catch(refusal)
      if (isFirstInDuration) await remember(key)
      return counted(consumedPoints, msBeforeNext, consumedPoints > perMinute)
    },
  }
}

function refusal(refused: unknown): RateLimiterRes {
  if (refused instanceof RateLimiterRes) return refused
  throw refused
}

/** Counts unauthenticated clients by address or network. */
export type AddressLimit = MinuteLimit

export function createAddressLimit(options: MinuteLimitOptions): AddressLimit {
  const limit = createMinuteLimit(options)
  return { consume: (address) => limit.consume(networkOf(address)) }
}

/** Some proxies append the port, as `192.0.2.1:4711` or `[2001:db8::1]:4711`; it differs for every connection. */
const WITH_PORT = /^(?:([\d.]+)|\[(.+)\])(?::\d+)?$/
/** IPv4 address in IPv6 notation. */
const MAPPED = /^::ffff:(?=[\d.]+$)/i

/** The IPv4 address, or the /64 of an IPv6 address: the owner of one of its 2^64 addresses owns all. */
export const networkOf = (told: string): string => beginningOf(told, { v4: 4, v6: 4 })

/** The network that an address owner can cheaply obtain: 256 IPv4 addresses, or an IPv6 /48. */
export const widerNetworkOf = (told: string): string => beginningOf(told, { v4: 3, v6: 3 })

/** First bytes of an IPv4 address, or first groups of an IPv6 one; other texts are returned unchanged. */
function beginningOf(told: string, { v4, v6 }: { readonly v4: number; readonly v6: number }): string {
  const [, plain, bracketed] = WITH_PORT.exec(told) ?? []
  const address = (plain ?? bracketed ?? told).replace(MAPPED, '')
  if (isIPv4(address)) return address.split('.').slice(0, v4).join('.')
  if (!isIPv6(address)) return address
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].slice(0, v6).join(':')
}
