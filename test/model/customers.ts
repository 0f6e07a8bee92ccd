import type { CustomerBody } from './calls.ts'
import {
  answered,
  byExternalId,
  type Customer,
  live,
  NOT_FOUND,
  type Outcome,
  type State,
  type Turn,
  taken,
} from './state.ts'

export const shownCustomer = ({ id, external_id, name }: Customer) => ({ id, external_id, name })

const show = (status: number, customer: Customer): Outcome => answered(status, shownCustomer(customer))

/** Names of live customers are unique, ignoring case; names of deleted ones are available. */
function conflict({ customers }: State, { name, external_id }: CustomerBody, own: number | null): Outcome | null {
  const isSame = (other: Customer) => !other.deleted && other.name.toLowerCase() === name.toLowerCase()
  const holder = [...customers.values()].find(isSame)
  return taken('name', holder, own) ?? taken('external_id', byExternalId(customers, external_id), own)
}

export function createCustomer(turn: Turn, body: CustomerBody): Outcome {
  return conflict(turn.state, body, null) ?? add(turn, body)
}

function add(turn: Turn, { name, external_id }: CustomerBody): Outcome {
  const id = turn.newId('customer')
  const customer = { id, external_id: external_id ?? null, name, deleted: false }
  turn.state.customers.set(id, customer)
  turn.events += 1
  return show(201, customer)
}

export function putCustomer(turn: Turn, external_id: string, { name }: CustomerBody): Outcome {
  const known = byExternalId(turn.state.customers, external_id)
  const refusal = conflict(turn.state, { name }, known?.id ?? null)
  if (refusal) return refusal
  return known ? rename(turn, known, name) : add(turn, { name, external_id })
}

export function patchCustomer(turn: Turn, id: number, { name }: CustomerBody): Outcome {
  const known = live(turn.state.customers.get(id))
  if (!known) return NOT_FOUND
  return conflict(turn.state, { name }, id) ?? rename(turn, known, name)
}

function rename(turn: Turn, known: Customer, name: string): Outcome {
  if (known.deleted || known.name !== name) turn.events += 1
  const after = { ...known, name, deleted: false }
  turn.state.customers.set(known.id, after)
  return show(200, after)
}

export function deleteCustomer(turn: Turn, id: number): Outcome {
  const known = live(turn.state.customers.get(id))
  if (!known) return NOT_FOUND
  turn.state.customers.set(id, { ...known, deleted: true })
  turn.events += 1
  return answered(204)
}

export function getCustomer({ state }: Turn, id: number): Outcome {
  const known = state.customers.get(id)
  if (!known) return NOT_FOUND
  // A deleted one has lost its name.
  return known.deleted ? answered(200, { ...shownCustomer(known), name: null }) : show(200, known)
}
