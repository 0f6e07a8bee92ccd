/** Settings of the simulated OAuth. */
export interface Connections {
  /** Lifetime of issued access tokens, in seconds. */
  token_seconds: number
  /** Whether refresh tokens are refused, as after the owner has revoked the service's access. */
  revoked: boolean
}

/** 180 days, like the real provider. */
const TOKEN_SECONDS = 15_552_000

export const newConnections = (): Connections => ({ token_seconds: TOKEN_SECONDS, revoked: false })
