import { type Refusal, refuse } from '#domain/refusal.ts'
import type { DataOf } from '#events/catalogue.ts'
import type { NewEvent, Origin } from '#ledger/envelope.ts'
import type { Ref } from '#ledger/table.ts'
import type { AccountFields, AccountRow, AccountStart } from '#projections/finance.ts'
import type { PersonRow } from '#projections/people.ts'
import type { PartyName } from './account-input.ts'

/** A customer or supplier as an account records it. */
export interface Party {
  readonly id: number
  readonly external_id: string | null
  readonly name: string
}

/** Who the other party of an account may be, and how inputs (`N`) and events (`P`) speak of it. */
export interface PartyKind<P, N> {
  /** First half of its fields' names. */
  readonly field: 'customer' | 'supplier'
  /** In Portuguese. */
  readonly unknown: string
  byId(id: number): Ref<PersonRow>
  byExternalId(externalId: string): Ref<PersonRow>
  named(input: N): PartyName
  recorded(party: Party | null): P
}

/** One side of the finances as commands see it: how its accounts are found, and what can happen to them. */
export interface AccountSide<P extends object, N> {
  /** Of subjects and ids. */
  readonly name: 'receivable' | 'payable'
  readonly party: PartyKind<P, N>
  byId(id: number): Ref<AccountRow<P>>
  byExternalId(externalId: string): Ref<AccountRow<P>>
  created(id: number, start: AccountStart<P>): NewEvent
  updated(id: number, changes: Partial<AccountFields & P>): NewEvent
  deleted(id: number): NewEvent
  revived(id: number, fields: AccountFields & P): NewEvent
  settled(id: number, settlement: Omit<DataOf<'ReceivableSettled'>, 'id'>): NewEvent
}

/**
 * Why an account cannot be written at all. One that a sale made is the point of sale's to keep; only the channel of the
 * integration API is refused (DESIGN section 5, managed_by_pdv).
 */
export function findLock(
  { origin: source, status }: Pick<AccountRow<unknown>, 'origin' | 'status'>,
  origin: Origin,
): Refusal | null {
  if (source === 'sale' && origin === 'api') return refuse('managed_by_pdv')
  return status === 'settled' ? refuse('already_settled') : null
}
