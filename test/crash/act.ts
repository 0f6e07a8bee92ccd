import type { Book } from './book.ts'
import type { Caller } from './caller.ts'
import type { PlayedCompany } from './companies.ts'
import type { Dice } from './dice.ts'

/** Context of an act. */
export interface Stage {
  readonly shop: PlayedCompany
  readonly book: Book
  readonly caller: Caller
  readonly dice: Dice
  /** Returns a number that is unique in the run. */
  readonly next: () => number
}

/** A client action; records its answer in the book of the shop. */
export type Act = (stage: Stage) => Promise<void>
