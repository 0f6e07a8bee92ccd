import { refuseField } from '#domain/refusals.ts'
import { accept, command, invoke, isRefusal } from '#ledger/command.ts'
import type { Reactor, ReadModel } from '#ledger/projection.ts'
import { byPk, table, toDdl } from '#ledger/table.ts'
import { idempotentAnswers } from '#ledger/write/idempotency.ts'
import type { Request } from '#ledger/write/unit-of-work.ts'

/** Minimal domain that tests the ledger without Tillbook's own: counters with a limit. */
interface CounterRow {
  company_id: number
  id: number
  value: number
  doc: { id: number; value: number; last: string }
}

export const counters = table<CounterRow>('counters', {
  columns: { company_id: 'bigint', id: 'bigint', value: 'bigint', doc: 'json' },
  keys: { pk: ['company_id', 'id'] },
})

const counterById = (id: number) => byPk(counters, id)

export const counterModel: ReadModel = {
  number: 1,
  version: 'counters',
  upcast: (event) => event,
  personalFields: () => [],
  persons: new Map(),
  base: [],
  timeOf: (_rows, at) => at,
  emptiedBy: () => [],
  projections: [
    {
      name: 'counters',
      tables: [counters],
      on: {
        CounterAdded: {
          refs: (event) => [counterById((event.data as { id: number }).id)],
          apply(rows, event) {
            const { id, by } = event.data as { id: number; by: number }
            const value = (rows.get(counterById(id))?.value ?? 0) + by
            const company_id = Number(event.stream.split('-')[1])
            rows.put(counters, { company_id, id, value, doc: { id, value, last: event.recorded_at } })
          },
        },
      },
    },
  ],
  views: {
    counter: {
      refs: (id) => [counterById(id)],
      render(rows, id, now) {
        const row = rows.get(counterById(id))
        return row ? JSON.stringify({ ...row.doc, shown_at: now }) : null
      },
    },
  },
}

/** Output of reactors: one row per event, so that a repetition is visible. */
interface EchoRow {
  company_id: number
  id: string
  event_id: string
  /** Record as of the event. */
  record: { value: number; last: string; shown_at: string }
}

export const echoes = table<EchoRow>('echoes', {
  columns: { company_id: 'bigint', id: 'uuid', event_id: 'uuid', record: 'json' },
  keys: { pk: ['company_id', 'id'] },
})

export const echo: Reactor = {
  refs: () => [],
  react(rows, event, record, { newId }) {
    const company_id = Number(event.stream.split('-')[1])
    rows.add(echoes, { company_id, id: newId(), event_id: event.id, record: JSON.parse(record) })
  },
}

export const counterDdl = toDdl(counters, 'read')
export const echoDdl = toDdl(echoes, 'ops')

interface AdditionInput {
  readonly id: number
  readonly by: number
  readonly limit?: number
  readonly bug?: boolean
  readonly secret?: string
  /** Called during the decision. */
  readonly onDecide?: () => void
}

/** A row that belongs to an event without being part of it, in an existing table. */
const secretRow = (company_id: number, secret: string, created_at: string) => ({
  table: idempotentAnswers,
  row: { company_id, key: `secret-${secret}`, request_hash: '', outcome: 'updated' as const, body: '', created_at },
})

/** Adds to a counter; refuses to exceed the limit; can throw like a bug. */
export const addToCounter = command<AdditionInput>({
  needs: ({ id }) => [counterById(id)],
  decide(rows, { id, by, limit = Number.POSITIVE_INFINITY, bug, secret, onDecide }, { companyId, now }) {
    onDecide?.()
    if (bug) throw new Error('a bug in decide')
    if ((rows.get(counterById(id))?.value ?? 0) + by > limit) return refuseField('by', 'too much')
    const added = { type: 'CounterAdded', version: 1, subject: `counter/${id}`, data: { id, by } }
    return accept('updated', added.subject, [added], secret === undefined ? [] : [secretRow(companyId, secret, now)])
  },
})

/** Request with one command. */
export function addition(companyId: number, input: AdditionInput, key?: string, requestHash = 'same'): Request {
  return {
    companyId,
    invocations: [invoke(addToCounter, input)],
    origin: 'api',
    actor: null,
    requestId: `request-${key ?? 'none'}`,
    idempotency: key === undefined ? undefined : { key, requestHash },
  }
}

/** Batch request with several commands; the response reports each. */
export function additions(companyId: number, inputs: readonly AdditionInput[], key?: string): Request {
  return {
    ...addition(companyId, { id: 1, by: 1 }, key),
    invocations: inputs.map((input) => invoke(addToCounter, input)),
    compose: (results) => ({
      outcome: results.some(isRefusal) ? 'partial' : 'updated',
      json: JSON.stringify(
        results.map((result) => (isRefusal(result) ? result.refused : JSON.parse(result.json).value)),
      ),
    }),
  }
}
