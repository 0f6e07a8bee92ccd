import { isIP } from 'node:net'

/** What is stored of a passkey, sealed. The private key stays in the device. */
export interface StoredPasskey {
  /** COSE key, base64url. */
  readonly publicKey: string
  readonly transports: readonly string[]
}

/** A passkey of a person, with its signature counter. */
export interface KnownPasskey extends StoredPasskey {
  readonly credentialId: string
  readonly counter: number
}

/** Relying party: the site that passkeys are bound to. */
export interface RelyingParty {
  readonly id: string
  readonly origin: string
}

/** Browsers create passkeys for names only: at an IP address there are none. */
export function relyingPartyOf(publicUrl: string): RelyingParty | null {
  const { hostname, origin } = new URL(publicUrl)
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : null
}
