/** Finding in a file. */
export interface Item {
  readonly verdict: 'sound' | 'undecided' | 'wrong'
  readonly kind: string
  readonly file: string
  readonly reason: string | null
  readonly about?: string
  /** First revision of an export. */
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

/** The verifier as auditors get it; it has no types. */
export const { verifyFiles, parseVkey } = (await import(FILE)) as Verifier
