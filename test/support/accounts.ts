import { event } from '#events/catalogue.ts'
import { accept, command } from '#ledger/command.ts'
import type { Json, TestCompany } from './api.ts'
import { noCustomer, noSupplier, plainAccount } from './facts.ts'

/** Both sides of the finances over HTTP, so that one test covers both. */
export const SIDES = [
  { path: '/finance/receivables', name: 'receivable', party: 'customer', parties: '/customers' },
  { path: '/finance/payables', name: 'payable', party: 'supplier', parties: '/suppliers' },
] as const

export type Side = (typeof SIDES)[number]

interface OfSale {
  readonly name: Side['name']
  readonly fields?: Partial<{ external_id: string; amount: string; due_date: string }>
}

/** Records an account like a counter sale on credit, with origin `sale`. */
const recordOfSale = command<OfSale>({
  needs: () => [],
  decide(_rows, { name, fields }, { nextId }) {
    const data = { id: nextId(name), origin: 'sale', ...plainAccount, sale_id: 1, ...fields } as const
    const created =
      name === 'receivable'
        ? event('ReceivableCreated', { ...data, ...noCustomer })
        : event('PayableCreated', { ...data, ...noSupplier })
    return accept('created', created.subject, [created])
  },
})

/** An account with origin `sale`. */
export const accountOfSale = (company: TestCompany, { name }: Side, fields?: OfSale['fields']): Promise<Json> =>
  company.run(recordOfSale, { name, fields }, 'pdv')

let keys = 0

/** A settlement under an Idempotency-Key of its own, unless one is given. */
export const settle = (company: TestCompany, { path }: Side, id: number, body: object, key = `settle-${++keys}`) =>
  company.post(`${path}/${id}/settle`, body, { 'idempotency-key': key })
