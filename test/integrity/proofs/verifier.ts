/** A thing that was found in a file. */
export interface Item {
  readonly verdict: 'sound' | 'undecided' | 'wrong'
  readonly kind: string
  readonly file: string
  readonly reason: string | null
  readonly about?: string
  /** Of an export: its first revision. */
  readonly from?: number
  readonly witnesses?: readonly string[]
  readonly warning?: string
}

export interface Report {
  readonly verdict: Item['verdict']
  readonly events: number
  readonly trusted_key: boolean
  readonly items: readonly Item[]
}

interface Key {
  readonly name: string | null
}

interface Verifier {
  verifyFiles(paths: readonly string[], keys: readonly Key[]): Promise<Report>
  parseVkey(vkey: string): Key
}

const FILE = '../../../verifier/tillbook-verify.mjs'

/** What auditors get, as it is: it has no types. */
export const { verifyFiles, parseVkey } = (await import(FILE)) as Verifier
