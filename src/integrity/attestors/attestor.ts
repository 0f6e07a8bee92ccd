import type { SignedCheckpoint } from '../proofs/checkpoint-log.ts'

/**
 * `cosignature`: a line of a signed note; `time_stamp`: a TimeStampResp as DER; `copy`: the name under which the
 * checkpoint was stored.
 */
export type TokenKind = 'cosignature' | 'time_stamp' | 'copy'

/** A checkpoint of the installation log, with the log's own signatures only. */
export type AttestationRequest = Omit<SignedCheckpoint, 'made_at'>

export interface AskOptions {
  /** Size of the newest checkpoint with a token from this attestor; 0 before the first. */
  readonly last: number
  /** Aborts the request. */
  readonly signal: AbortSignal
}

/** An attestor in the settings. */
export interface NamedAttestor {
  /** Name in tokens, metrics and the panel; contains no secrets. */
  readonly source: string
  readonly kind: TokenKind
  /** Of the party that is asked; null for a folder. */
  readonly host: string | null
}

/** Independent party that vouches for checkpoints. An attacker with access to the database does not control it. */
export interface Attestor {
  /** Name in tokens, metrics and the panel; contains no secrets. */
  readonly source: string
  readonly kind: TokenKind
  /**
   * Whether each checkpoint needs its own token. A cosignature or time stamp also covers all earlier checkpoints, with
   * which its own is consistent, so missed ones are not requested later.
   */
  readonly takesEach: boolean
  /** @returns a verified token. @throws AttestorFailed */
  ask(checkpoint: AttestationRequest, options: AskOptions): Promise<Buffer>
}

/**
 * `unreachable`: no response, or one that asks for a retry; `refused`: for example a witness that does not know the
 * log; `inconsistent`: the attestor has seen a different or longer log under this name; `wrong_answer`: the response
 * contains no valid token.
 */
export type AttestationProblem = 'unreachable' | 'refused' | 'inconsistent' | 'wrong_answer'

/** No token was issued. The message is for the operator. */
export class AttestorFailed extends Error {
  override readonly name = 'AttestorFailed'
  constructor(
    readonly problem: AttestationProblem,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
