import { Unavailable } from './unavailable.ts'

/**
 * The company lives in another home than the one that was asked, which answers nothing about it (HOME-42): whoever knows the homes asks that
 * one. To a caller who cannot be taken there it is a 503.
 */
export class Moved extends Unavailable {
  constructor(readonly companyId: number) {
    super(`company ${companyId} lives in another home`)
  }
}
