import type { SignedCheckpoint } from '../proofs/checkpoint-log.ts'

/** `cosignature`: a line of a signed note; `time_stamp`: a TimeStampResp as DER; `copy`: the name that the checkpoint was put under. */
export type TokenKind = 'cosignature' | 'time_stamp' | 'copy'

/** A checkpoint of the installation log, with the log's own signatures only. */
export type AttestationRequest = Omit<SignedCheckpoint, 'made_at'>

export interface AskOptions {
  /** Size of the newest checkpoint that this outsider gave a token for; 0 before the first. */
  readonly last: number
  /** Ends the call. */
  readonly signal: AbortSignal
}

/** Somebody who vouches for checkpoints, and whom who has the database does not have. */
export interface Attestor {
  /** Who it is, in tokens, figures and for people: without secrets. */
  readonly source: string
  readonly kind: TokenKind
  /**
   * Whether each checkpoint needs a token of its own. A cosignature or a time stamp says something of all checkpoints before,
   * with which its own is consistent: those that were missed meanwhile are not made up for.
   */
  readonly takesEach: boolean
  /** @returns a token that was verified. @throws AttestorFailed */
  ask(checkpoint: AttestationRequest, options: AskOptions): Promise<Buffer>
}

/**
 * `unreachable`: no answer, or one that says to come again; `refused`: it does not want it, as a witness that does not know the
 * log; `inconsistent`: it has seen another log under this name, or a longer one; `wrong_answer`: what it gave is no token.
 */
export type AttestationProblem = 'unreachable' | 'refused' | 'inconsistent' | 'wrong_answer'

/** There is no token, for now. The message is for the operator. */
export class AttestorFailed extends Error {
  override readonly name = 'OutsiderFailed'
  constructor(
    readonly problem: AttestationProblem,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
