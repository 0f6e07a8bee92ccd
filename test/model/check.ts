import { isDeepStrictEqual } from 'node:util'
import type { Envelope } from '#ledger/command.ts'
import { make } from './model.ts'
import type { Observation, Played } from './play.ts'
import { EMPTY, type Outcome, type State, type Turn } from './state.ts'

/** Position of a call in the company's order: between two revisions, or at one. */
interface Interval {
  readonly from: number
  readonly to: number
}

/**
 * Checks the clients' observations against one order of calls, the ledger's. A call with events is placed at its
 * events; a call without events but with a revision, at that revision; a refusal, anywhere between its request and
 * response. Each response must equal the model's at that position. Throws for the first that does not, and returns the
 * final state of the company.
 */
export function checkOrder({ start, observations }: Omit<Played, 'core'>, events: readonly Envelope[]): State {
  const states = statesOf(start, observations, events)
  const last = events.length - 1
  // Till responses lack a revision; that of their events is used instead.
  const placed = observations.map((seen) => ({ ...seen, revision: seen.revision ?? lastOf(eventsOf(seen, events)) }))
  for (const seen of observations) {
    const { from, to } = intervalOf(seen, placed, start, last)
    const own = eventsOf(seen, events)
    const [first] = own
    if (first) {
      const end = first.revision + own.length - 1
      if (first.revision <= from) fail(seen, `took place at ${first.revision}, though ${from} was over before it began`)
      if (end > to) fail(seen, `took place at ${end}, though it had been answered at ${to}`)
      if (seen.revision !== null && seen.revision !== end)
        fail(seen, `says revision ${seen.revision}, and is at ${end}`)
      continue
    }
    const isExact = seen.revision !== null && seen.outcome.status < 300
    const [low, high] = isExact ? [seen.revision as number, seen.revision as number] : [Math.max(from, start), to]
    if (low < from || high > to) fail(seen, `is as of ${low}, and should be between ${from} and ${to}`)
    expectSomewhere(seen, states, low, high)
  }
  return states.get(last) as State
}

/** States of the company after each revision at which no call is incomplete. */
function statesOf(
  start: number,
  observations: readonly Observation[],
  events: readonly Envelope[],
): Map<number, State> {
  const states = new Map([[start, EMPTY]])
  const byRequest = new Map(observations.map((seen) => [seen.requestId, seen]))
  let revision = start
  let state = EMPTY
  while (revision < events.length - 1) {
    const next = events[revision + 1] as Envelope
    const seen = byRequest.get(next.request_id ?? '')
    if (!seen) throw new Error(`event ${next.revision} (${next.type}) has no call`)
    const own = eventsOf(seen, events)
    const made = make(state, seen.call, idsOf(own))
    if (!isDeepStrictEqual(made.outcome, seen.outcome)) differ(seen, made.outcome, state)
    if (made.events !== own.length)
      fail(seen, `recorded ${own.map(({ type }) => type)}, which should be ${made.events}`)
    revision += own.length
    state = made.state
    states.set(revision, state)
  }
  return states
}

const eventsOf = ({ requestId }: Observation, events: readonly Envelope[]): Envelope[] =>
  events.filter((event) => event.request_id === requestId)

const lastOf = (events: readonly Envelope[]): number | null => events.at(-1)?.revision ?? null

const CREATIONS =
  /^(CatalogItemCreated|CustomerCreated|ReceivableCreated|SaleCompleted|OfflineSale(Completed|Cancelled))$/

/** Ids from the service, by kind, in order. */
function idsOf(events: readonly Envelope[]): Turn['newId'] {
  const left = events.filter(({ type }) => CREATIONS.test(type)).map(({ subject }) => subject)
  return (kind) => {
    const at = left.findIndex((subject) => subject.startsWith(`${kind}/`))
    const [subject = ''] = at < 0 ? [] : left.splice(at, 1)
    return Number(subject.split('/')[1])
  }
}

/** Bounds of a call: after calls that ended before it began, before calls that began after it ended. */
function intervalOf(seen: Observation, all: readonly Observation[], start: number, last: number): Interval {
  const isRefused = seen.outcome.status >= 400
  let from = isRefused ? (seen.revision ?? start) : start
  let to = last
  for (const other of all) {
    if (other.revision === null) continue
    if (other.ended <= seen.began) from = Math.max(from, other.revision)
    if (other.began >= seen.ended) to = Math.min(to, other.revision)
  }
  return { from, to }
}

const nothingNew: Turn['newId'] = () => Number.NaN

function expectSomewhere(seen: Observation, states: ReadonlyMap<number, State>, from: number, to: number): void {
  const outcomes: Outcome[] = []
  for (let revision = from; revision <= to; revision++) {
    const state = states.get(revision)
    if (!state) continue
    const made = make(state, seen.call, nothingNew)
    if (made.events === 0 && isDeepStrictEqual(made.outcome, seen.outcome)) return
    outcomes.push(made.outcome)
  }
  fail(seen, `was answered as nowhere between ${from} and ${to}, where it would be ${JSON.stringify(outcomes)}`)
}

function differ(seen: Observation, expected: Outcome, state: State): never {
  fail(
    seen,
    `should be ${JSON.stringify(expected)} in ${JSON.stringify(state, (_, value) => (value instanceof Map ? [...value.values()] : value))}`,
  )
}

function fail(seen: Observation, what: string): never {
  throw new Error(`${JSON.stringify(seen.call)}\nresponded ${JSON.stringify(seen.outcome)}\n${what}`)
}
