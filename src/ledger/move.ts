import { Moved } from '#lib/moved.ts'
import { Unavailable } from '#lib/unavailable.ts'

/**
 * How a company stands in its home (HOME-40), null where it lives there and stays: `paused`, nothing that runs by itself begins
 * anything of it; `leaving`, no writes either; `left` and `arriving`, it lives elsewhere, and its rows are old or being made.
 */
export type Move = 'paused' | 'leaving' | 'left' | 'arriving'

const isElsewhere = (move: Move | null): boolean => move === 'left' || move === 'arriving'

/** Why nothing may be written for a company now; null where all may. */
export function refusalToWrite(companyId: number, move: Move | null): Unavailable | null {
  if (isElsewhere(move)) return new Moved(companyId)
  return move === 'leaving' ? new Unavailable(`company ${companyId} moves to another home`) : null
}

/** @throws Moved where the rows of a company are not what it is (HOME-42). */
export function assertHere(companyId: number, move: Move | null): void {
  if (isElsewhere(move)) throw new Moved(companyId)
}
