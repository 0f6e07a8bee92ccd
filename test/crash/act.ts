import type { Book } from './book.ts'
import type { Caller } from './caller.ts'
import type { Dice } from './dice.ts'
import type { Shop } from './shop.ts'

/** What an act works with. */
export interface Stage {
  readonly shop: Shop
  readonly book: Book
  readonly caller: Caller
  readonly dice: Dice
  /** A number that no other act of the run gets. */
  readonly next: () => number
}

/** Something that a client does, and notes in the shop's book once it was answered. */
export type Act = (stage: Stage) => Promise<void>
