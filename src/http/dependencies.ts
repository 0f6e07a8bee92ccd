/** What inputs may depend on beside the request: randomness, and what the operator allows. */
export interface InputDependencies {
  /** A signing secret that nobody has seen yet. */
  newSecret(): string
  /** Whether webhooks may call http and private addresses. */
  readonly allowPrivateTargets: boolean
}
