import { Unavailable } from '#lib/unavailable.ts'

/** By what a company is found without its id. All belong to one company but e-mail addresses. */
export type EntryKind = 'api_key' | 'session' | 'sync_token' | 'invitation' | 'store_alias' | 'email'

/** Of keys and tokens the SHA-256; of aliases and addresses the text. */
export type EntryKey = Buffer | string

export interface Entry {
  readonly kind: EntryKind
  readonly key: EntryKey
  readonly companyId: number
}

/** A company, and where it lives. */
export interface Place {
  readonly companyId: number
  readonly home: string
}

export interface HomeFigures {
  readonly name: string
  /** Takes no new companies. */
  readonly draining: boolean
  readonly companies: number
}

/** A key that is unique belongs to another company. */
export class Taken extends Error {
  override readonly name = 'Taken'
  constructor(readonly entry: Entry) {
    super(`${entry.kind} is of another company`)
  }
}

/** In which home each company lives (HOME-20). Whatever cannot be asked is `Unavailable`, never taken for unknown. */
export interface Directory {
  /** Null for a company that is nowhere. @throws Unavailable */
  homeOf(companyId: number): Promise<string | null>
  /** Whose key it is: none or one, of addresses several. @throws Unavailable */
  find(kind: EntryKind, key: EntryKey): Promise<readonly Place[]>
  /** Before rows with these keys are written. @throws Taken, Unavailable */
  reserve(entries: readonly Entry[]): Promise<void>
  /** Of what has ended; whatever is not there is left alone. @throws Unavailable */
  release(entries: readonly Entry[]): Promise<void>
  /** A new company lives here from its first event on. @throws Unavailable */
  register(companyId: number, home: string): Promise<void>
  /** A company that moves lives there from now on, in one transaction, and every process hears of it. @throws Unavailable */
  moveTo(companyId: number, home: string): Promise<void>
  /** All homes that were added, by name. @throws Unavailable */
  homes(): Promise<readonly HomeFigures[]>
  /** Makes a home known, or changes whether it takes new companies. @throws Unavailable */
  addHome(name: string): Promise<void>
  drain(name: string, draining: boolean): Promise<void>
  /** Asks anew where a company lives before anybody is told of it again. */
  forget(companyId: number): void
  /** Whether the last look-up was answered. */
  isUp(): boolean
  close(): Promise<void>
}

export const unavailableDirectory = (cause: unknown): Unavailable =>
  new Unavailable('the directory cannot be asked', { cause })
