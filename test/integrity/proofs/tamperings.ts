import type { Envelope } from '#ledger/command.ts'
import { eventAfter, KEYS, ledgerOf, ringOf, THIEF, type World } from './world.ts'

/** Data under the control of an attacker with database, files and keys: exports by company, one line per event. */
export interface Handed {
  readonly exports: Map<number, string[]>
  ring: string
  entries: string
}

export const handedBy = ({ ledgers, ring, entries }: World): Handed => ({
  exports: new Map(ledgers.map((events, at) => [at + 1, events.map((event) => JSON.stringify(event))])),
  ring,
  entries,
})

/** Position and material of a tampering: company, place in its export, and values. */
export interface Spot {
  readonly company: number
  readonly place: number
  readonly other: number
}

const parsed = (lines: readonly string[]): Envelope[] => lines.map((line) => JSON.parse(line))

/** Recomputes the hash chain of a ledger from its data, like an attacker with the program. */
function rechained(company: number, events: readonly Pick<Envelope, 'data'>[]): string[] {
  return ledgerOf(
    company,
    events.map(({ data }) => data),
  ).map((event) => JSON.stringify(event))
}

type Tampering = (handed: Handed, spot: Spot) => void

/** Tampering with the lines of one export. */
const withLines =
  (change: (lines: string[], at: number, spot: Spot) => readonly string[]): Tampering =>
  ({ exports }, spot) => {
    const lines = exports.get(spot.company) ?? []
    if (lines.length > 0) exports.set(spot.company, [...change([...lines], spot.place % lines.length, spot)])
  }

const other = (at: number, { other: by }: Spot, { length }: readonly string[]) => (at + 1 + by) % length

export const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  nothing: () => {},
  'the ledger goes on': withLines((lines, _, { company, other: more }) => {
    const events = parsed(lines)
    for (let n = 0; n <= more % 3; n++) events.push(eventAfter(events.at(-1), company, { more: n }))
    return events.map((event) => JSON.stringify(event))
  }),
  'a byte': withLines((lines, at, { other: by }) => {
    const bytes = Buffer.from(lines[at] as string)
    bytes[by % bytes.length] = 0x20 + ((by * 31) % 0x5f)
    return lines.with(at, bytes.toString())
  }),
  'a value': withLines((lines, at) => lines.with(at, (lines[at] as string).replace('.00"', '.01"'))),
  'a value, and all hashes since': withLines((lines, at, { company }) =>
    rechained(company, parsed(lines).with(at, { data: { forged: at } } as Envelope)),
  ),
  'a member twice': withLines((lines, at) => lines.with(at, (lines[at] as string).replace('"id":', '"id":"x","id":'))),
  'a number in another form': withLines((lines, at) =>
    lines.with(at, (lines[at] as string).replace('"version":1,', '"version":1.0,')),
  ),
  'blanks and the order of members': withLines((lines, at, { other: by }) => {
    const { id, ...rest } = JSON.parse(lines[at] as string)
    return lines.with(at, by % 2 ? JSON.stringify({ ...rest, id }) : (lines[at] as string).replace(':', ': '))
  }),
  'an event is removed': withLines((lines, at) => lines.toSpliced(at, 1)),
  'an event is removed, and all hashes since': withLines((lines, at, { company }) =>
    rechained(company, parsed(lines).toSpliced(at, 1)),
  ),
  'an event is doubled': withLines((lines, at) => lines.toSpliced(at, 0, lines[at] as string)),
  'an event is put in, and all hashes since': withLines((lines, at, { company }) =>
    rechained(company, parsed(lines).toSpliced(at, 0, { data: { put: 'in' } } as Envelope)),
  ),
  'events change places': withLines((lines, at, spot) => {
    const to = other(at, spot, lines)
    return lines.with(at, lines[to] as string).with(to, lines[at] as string)
  }),
  'events change places, and all hashes since': withLines((lines, at, spot) => {
    const [events, to] = [parsed(lines), other(at, spot, lines)]
    return rechained(spot.company, events.with(at, events[to] as Envelope).with(to, events[at] as Envelope))
  }),
  'the tail is cut off': withLines((lines, at) => lines.slice(0, at)),
  'the tail is forked': withLines((lines, at, { company, other: by }) =>
    rechained(company, [...parsed(lines).slice(0, at), ...Array(1 + (by % 5)).fill({ data: { fork: by } })]),
  ),
  'a company is another one': ({ exports }, { company, other: by }) => {
    const donor = exports.get(1 + (by % exports.size)) ?? []
    exports.set(company, rechained(company, parsed(donor)))
  },
  'a company vanishes': ({ exports }, { company }) => void exports.delete(company),
  'every company vanishes': ({ exports }) => exports.clear(),
  'the ring is another one, and a tail is forked': (handed, spot) => {
    handed.ring = ringOf([THIEF])
    TAMPERINGS['the tail is forked']?.(handed, spot)
  },
  'the ring goes on with a thief': (handed) => {
    handed.ring = ringOf([THIEF, ...KEYS])
  },
  'a byte of the ring': (handed, { other: by }) => {
    const at = by % handed.ring.length
    handed.ring = `${handed.ring.slice(0, at)}${handed.ring[at] === 'A' ? 'B' : 'A'}${handed.ring.slice(at + 1)}`
  },
  'an entry of the installation log': (handed, { place }) => {
    const lines = handed.entries.trimEnd().split('\n')
    handed.entries = lines
      .toSpliced(place % lines.length, 1)
      .map((line) => `${line}\n`)
      .join('')
  },
}

/** Changes after which every attestation is still valid. */
export const HONEST = ['nothing', 'the ledger goes on']
