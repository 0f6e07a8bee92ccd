import { isIPv4, isIPv6 } from 'node:net'
import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import type { Rate } from './api-authenticator.ts'

const WINDOW_SECONDS = 60

/** Keys remembered at a time: beyond them the longest known is forgotten, so that nobody can fill the memory. */
const KNOWN_KEYS = 20_000

interface MinuteLimitOptions {
  readonly perMinute: number
  /** 20,000 unless told otherwise. */
  readonly known?: number
}

/** Where a key stands in its minute; `limited` when the call is one too many. */
export interface MinuteCount extends Rate {
  readonly limited: boolean
  /** Calls of this minute, those that were refused too. */
  readonly used: number
}

/** Counts per key, in minutes that begin with a key's first call. Per process: it protects the service, it is no contract. */
export interface MinuteLimit {
  /** Counts a call. */
  consume(key: string): Promise<MinuteCount>
}

export function createMinuteLimit({ perMinute, known = KNOWN_KEYS }: MinuteLimitOptions): MinuteLimit {
  const limiter = new RateLimiterMemory({ points: perMinute, duration: WINDOW_SECONDS })
  /** In the order in which their minutes began. */
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

/** Counts anonymous callers by their address, or by their network. */
export type AddressLimit = MinuteLimit

export function createAddressLimit(options: MinuteLimitOptions): AddressLimit {
  const limit = createMinuteLimit(options)
  return { consume: (address) => limit.consume(networkOf(address)) }
}

/** Some proxies tell the port as well, as `192.0.2.1:4711` or `[2001:db8::1]:4711`: another one for every connection. */
const WITH_PORT = /^(?:([\d.]+)|\[(.+)\])(?::\d+)?$/
/** An address of IPv4 as a socket of IPv6 sees it. */
const MAPPED = /^::ffff:(?=[\d.]+$)/i

/** An address of IPv4, or the first half of one of IPv6: whoever has one of 2^64 neighbours has them all. */
export const networkOf = (told: string): string => beginningOf(told, { v4: 4, v6: 4 })

/** What whoever has an address may have at the price of one: 256 addresses of IPv4, a /48 of IPv6. */
export const widerNetworkOf = (told: string): string => beginningOf(told, { v4: 3, v6: 3 })

/** The first bytes of an address of IPv4, or groups of one of IPv6; what is neither stays. */
function beginningOf(told: string, { v4, v6 }: { readonly v4: number; readonly v6: number }): string {
  const [, plain, bracketed] = WITH_PORT.exec(told) ?? []
  const address = (plain ?? bracketed ?? told).replace(MAPPED, '')
  if (isIPv4(address)) return address.split('.').slice(0, v4).join('.')
  if (!isIPv6(address)) return address
  const [head = [], tail = []] = address.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const zeros = Array<string>(8 - head.length - tail.length).fill('0')
  return [...head, ...zeros, ...tail].slice(0, v6).join(':')
}
