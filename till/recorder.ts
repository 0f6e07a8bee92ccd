import { linkElement, NO_PREDECESSOR } from './chain.ts'
import type { Journal } from './journal.ts'
import { type Body, type Recorded, type RecordKind, recordKey } from './records.ts'
import type { ChainEnd, Device, Storage } from './stored.ts'

/** What is recorded next. */
export interface Recording {
  readonly kind: RecordKind
  readonly body: Body
  readonly names: readonly string[]
  readonly customer: string
}

export type StorageValues = NonNullable<Parameters<Storage['putRecords']>[1]>

/** Neither copy could be written: nothing has happened. */
export class NotDurable extends Error {}

const NO_END = { number: 0, hash: NO_PREDECESSOR }

/** Sent elements that stay on the device, for returns and second prints. */
const KEPT = 2_000

interface Dependencies {
  readonly storage: Storage
  readonly journal: Journal
  readonly device: Device
  readonly key: CryptoKeyPair
}

/** Both copies together: what only one of them has is taken from it. */
export function joinCopies(stored: readonly Recorded[], written: readonly Recorded[]): Recorded[] {
  const all = new Map(written.map((record) => [record.key, record]))
  for (const record of stored) all.set(record.key, record)
  return [...all.values()].sort((one, other) => (one.key < other.key ? -1 : 1))
}

/** Everything that is on this device, in the order of the chain. One call after another changes it. */
export class Recorder {
  records: readonly Recorded[] = []
  /** A copy that could not be written last, if one is missing. */
  missingCopy: 'banco' | 'arquivo' | null = null
  readonly #parts: Dependencies
  #turn: Promise<unknown> = Promise.resolve()
  /** Where the service saw the chain end, if that is beyond what this device has: its data were copied back. */
  #end: ChainEnd

  private constructor(parts: Dependencies, end: ChainEnd) {
    this.#parts = parts
    this.#end = end
  }

  static async open(parts: Dependencies): Promise<Recorder> {
    const [stored, written, end] = await Promise.all([
      parts.storage.records(),
      parts.journal.read().catch(() => []),
      parts.storage.get('chainEnd'),
    ])
    const recorder = new Recorder(parts, end?.tillId === parts.device.id ? end : { ...NO_END, tillId: parts.device.id })
    recorder.records = joinCopies(stored, written)
    const known = new Set(stored.map(({ key }) => key))
    const lost = recorder.records.filter(({ key }) => !known.has(key))
    if (lost.length > 0) await parts.storage.putRecords(lost).catch(() => recorder.#lack('banco'))
    return recorder
  }

  /** For the header of each call; 0 before the first. */
  get lastNumber(): number {
    return this.#chainEnd().number
  }

  /** Goes on after the last number that the service knows of this till, if that is beyond its own. */
  continueAfter(number: number, hash: string | null): Promise<void> {
    return this.#inTurn(async () => {
      const own = this.#chainEnd()
      if (number <= own.number) return
      this.#end = { tillId: this.#parts.device.id, number, hash: hash ?? own.hash }
      await this.#parts.storage.set({ chainEnd: this.#end }).catch(() => this.#lack('banco'))
    })
  }

  /** Records all or nothing, in both copies. @throws NotDurable */
  record(recordings: readonly Recording[], userId: number, values: StorageValues = {}): Promise<Recorded[]> {
    return this.#inTurn(() => this.#write(recordings, userId, values))
  }

  /** Notes what became of elements. */
  note(changes: readonly Pick<Recorded, 'key' | 'state' | 'note'>[]): Promise<void> {
    return this.#inTurn(async () => {
      const byKey = new Map(changes.map((change) => [change.key, change]))
      this.records = this.records.map((record) => ({ ...record, ...byKey.get(record.key) }))
      const noted = this.records.filter(({ key }) => byKey.has(key))
      await this.#parts.storage.putRecords(noted).then(
        () => this.#tidy(),
        () => this.#lack('banco'),
      )
    })
  }

  #inTurn<T>(act: () => Promise<T>): Promise<T> {
    const acting = this.#turn.then(act)
    this.#turn = acting.catch(() => {})
    return acting
  }

  #lack(copy: 'banco' | 'arquivo' | null): void {
    this.missingCopy = copy
  }

  #chainEnd(): { readonly number: number; readonly hash: string } {
    const last = this.records.findLast(({ element }) => element.till.id === this.#parts.device.id)
    return last && last.element.till.number >= this.#end.number
      ? { number: last.element.till.number, hash: last.hash }
      : this.#end
  }

  async #link(recordings: readonly Recording[], userId: number): Promise<Recorded[]> {
    let { number, hash: previous } = this.#chainEnd()
    const linked: Recorded[] = []
    for (const { kind, body, names, customer } of recordings) {
      number += 1
      const { key, device } = this.#parts
      const { element, hash } = await linkElement(key, body, { id: device.id, number, previous })
      previous = hash
      const place = recordKey(element.till)
      linked.push({ key: place, kind, element, hash, userId, names, customer, state: 'waiting', note: '' })
    }
    return linked
  }

  async #write(recordings: readonly Recording[], userId: number, values: StorageValues): Promise<Recorded[]> {
    const linked = await this.#link(recordings, userId)
    const { storage, journal } = this.#parts
    const [inDatabase, inFile] = await Promise.allSettled([storage.putRecords(linked, values), journal.append(linked)])
    if (inDatabase.status === 'rejected' && inFile.status === 'rejected') throw new NotDurable()
    this.#lack(inDatabase.status === 'rejected' ? 'banco' : inFile.status === 'rejected' ? 'arquivo' : null)
    this.records = [...this.records, ...linked]
    return linked
  }

  /** The file is emptied once the service has everything: the database, which has it all, keeps the end of the chain. */
  async #tidy(): Promise<void> {
    const { storage, journal } = this.#parts
    if (this.records.length === 0 || this.records.some(({ state }) => state !== 'sent')) return
    const surplus = this.records.slice(0, -KEPT)
    this.records = this.records.slice(-KEPT)
    if (surplus.length > 0) await storage.deleteRecords(surplus.map(({ key }) => key))
    if (this.missingCopy !== null) await storage.putRecords(this.records)
    this.#lack(null)
    await journal.clear().catch(() => this.#lack('arquivo'))
  }
}
