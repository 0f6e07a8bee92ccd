import type { NewEvent } from '#ledger/envelope.ts'
import type { Ref } from '#ledger/table.ts'
import type { PersonFields, PersonRow } from '#projections/people.ts'
import type { Lookups } from './unique-fields.ts'

/** One kind of persons as commands see it: how they are found, and what can happen to them. `F` are the recorded fields. */
export interface PersonKind<F extends PersonFields> extends Lookups<PersonRow<F>> {
  /** Of subjects and ids. */
  readonly name: 'customer' | 'supplier'
  byId(id: number): Ref<PersonRow<F>>
  created(id: number, fields: F): NewEvent
  updated(id: number, changes: Partial<F>): NewEvent
  deleted(id: number): NewEvent
  revived(id: number, fields: F): NewEvent
}
