/** An attempt under way, or one whose result is not recorded yet. */
export interface Flight {
  readonly webhookId: number
  /** The address was failing when the attempt was claimed. */
  readonly failing: boolean
  /** Milliseconds, of the clock that `room` is asked with. */
  readonly startedAt: number
}

/** What may be claimed now. */
export interface Room {
  /** Attempts for addresses that answer, and for those that fail or are slow. */
  readonly sound: number
  readonly strained: number
  /** Of each address with attempts under way: how many, and whether it is slow. */
  readonly busy: Readonly<Record<string, { readonly flights: number; readonly slow: boolean }>>
}

/** An address whose oldest attempt has been under way for longer is slow until that one ends. */
const SLOW_MS = 1_000

const SOUND_FLIGHTS = 256
const STRAINED_FLIGHTS = 64
/** More than both together, because an address can become slow with many attempts under way. */
const FLIGHTS = 512

/**
 * Counts attempts under way, by address and by how their addresses do: those that fail or do not answer have a part of
 * their own, so that however many they are they cannot use up what the others need.
 */
export class Slots {
  readonly #byAddress = new Map<number, Set<Flight>>()
  #count = 0

  get count(): number {
    return this.#count
  }

  take(flight: Flight): void {
    const flights = this.#byAddress.get(flight.webhookId) ?? new Set()
    this.#byAddress.set(flight.webhookId, flights.add(flight))
    this.#count += 1
  }

  release(flight: Flight): void {
    const flights = this.#byAddress.get(flight.webhookId)
    if (!flights?.delete(flight)) return
    if (flights.size === 0) this.#byAddress.delete(flight.webhookId)
    this.#count -= 1
  }

  room(now: number): Room {
    const busy: Record<string, { flights: number; slow: boolean }> = {}
    let strained = 0
    for (const [webhookId, flights] of this.#byAddress) {
      // Sets keep the order of insertion: the first is the oldest.
      const [oldest] = flights as Set<Flight> & [Flight]
      const slow = now - oldest.startedAt > SLOW_MS
      busy[webhookId] = { flights: flights.size, slow }
      if (slow || oldest.failing) strained += flights.size
    }
    const free = FLIGHTS - this.#count
    const forSound = clamp(SOUND_FLIGHTS - (this.#count - strained), free)
    return { sound: forSound, strained: clamp(STRAINED_FLIGHTS - strained, free - forSound), busy }
  }
}

const clamp = (wanted: number, available: number): number => Math.max(0, Math.min(wanted, available))
