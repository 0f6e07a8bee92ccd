import type { Call } from './calls.ts'
import * as customers from './customers.ts'
import * as items from './items.ts'
import * as receivables from './receivables.ts'
import * as sales from './sales.ts'
import { answered, copyOf, type Outcome, refused, type State, type Turn } from './state.ts'

/** Result of a call. */
export interface Made {
  readonly outcome: Outcome
  readonly state: State
  /** Number of recorded events. */
  readonly events: number
}

/** Applies calls one after the other: response and next state. */
export function make(state: State, call: Call, newId: Turn['newId']): Made {
  const turn: Turn = { state: copyOf(state), newId, events: 0 }
  const outcome = 'key' in call && call.key ? once(turn, call.key, call) : run(turn, call)
  return { outcome, state: turn.events > 0 ? turn.state : state, events: turn.events }
}

/** Successes are stored under their key; a repeated call gets the stored response and changes nothing. */
function once(turn: Turn, key: string, call: Call): Outcome {
  const request = JSON.stringify(call)
  const stored = turn.state.answers.get(key)
  if (stored) return stored.request === request ? stored.outcome : refused(409, 'idempotency_key_reuse')
  const outcome = run(turn, call)
  if (outcome.status < 300) turn.state.answers.set(key, { request, outcome })
  return outcome
}

function run(turn: Turn, call: Call): Outcome {
  switch (call.act) {
    case 'createItem':
      return items.createItem(turn, call.body)
    case 'putItem':
      return items.putItem(turn, call.at, call.body)
    case 'patchItem':
      return items.patchItem(turn, call.id, call.body)
    case 'deleteItem':
      return items.deleteItem(turn, call.id)
    case 'getItem':
      return items.getItem(turn, call.id)
    case 'listItems':
      return items.listItems(turn)
    case 'batchItems':
      return batch(call.items, (item) => items.putItem(turn, item.external_id, item))
    case 'createCustomer':
      return customers.createCustomer(turn, call.body)
    case 'putCustomer':
      return customers.putCustomer(turn, call.at, call.body)
    case 'patchCustomer':
      return customers.patchCustomer(turn, call.id, call.body)
    case 'deleteCustomer':
      return customers.deleteCustomer(turn, call.id)
    case 'getCustomer':
      return customers.getCustomer(turn, call.id)
    case 'batchCustomers':
      return batch(call.items, (item) => customers.putCustomer(turn, item.external_id, item))
    default:
      return runMoney(turn, call)
  }
}

type Money = Extract<Call, { act: `${string}Receivable` | 'settle' | 'sell' | 'cancel' | 'getSale' | 'upload' }>

function runMoney(turn: Turn, call: Money): Outcome {
  switch (call.act) {
    case 'createReceivable':
      return receivables.createReceivable(turn, call.body)
    case 'putReceivable':
      return receivables.putReceivable(turn, call.at, call.body)
    case 'patchReceivable':
      return receivables.patchReceivable(turn, call.id, call.body)
    case 'deleteReceivable':
      return receivables.deleteReceivable(turn, call.id)
    case 'getReceivable':
      return receivables.getReceivable(turn, call.id)
    case 'settle':
      return receivables.settle(turn, call.id, call.amount)
    case 'sell':
      return sales.sell(turn, call.body)
    case 'cancel':
      return sales.cancel(turn, call.id)
    case 'getSale':
      return sales.getSale(turn, call.id)
    case 'upload':
      return answered(
        200,
        call.sales.map((sale) => sales.recordOffline(turn, sale)),
      )
  }
}

/** Items are independent. */
function batch<I extends { readonly external_id: string }>(all: readonly I[], put: (item: I) => Outcome): Outcome {
  const outcomes = all.map(put)
  const errors = outcomes.flatMap(({ status, body }, index) =>
    status < 300 ? [] : [{ index, external_id: all[index]?.external_id, ...(body as object) }],
  )
  const data = outcomes.flatMap(({ status, body }) => (status < 300 ? [body] : []))
  return answered(errors.length > 0 ? 207 : 200, { data, errors })
}
