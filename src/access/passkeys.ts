import { isIP } from 'node:net'
import {
  type AuthenticationResponseJSON,
  generateAuthenticationOptions,
  generateRegistrationOptions,
  type RegistrationResponseJSON,
  verifyAuthenticationResponse,
  verifyRegistrationResponse,
} from '@simplewebauthn/server'
import * as z from 'zod'
import { limitedText } from '#domain/text.ts'

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
export function toRelyingParty(publicUrl: string): RelyingParty | null {
  const { hostname, origin } = new URL(publicUrl)
  return isIP(hostname.replace(/^\[|\]$/g, '')) === 0 ? { id: hostname, origin } : null
}

/** Time that the browser gives the person. */
const TIMEOUT_MS = 120_000

const base64url = limitedText(20_000).regex(/^[\w-]+={0,2}$/)
const common = {
  id: base64url.max(1_400),
  rawId: base64url.max(1_400),
  type: z.literal('public-key'),
}
const Attestation = z.object({
  ...common,
  response: z.object({
    clientDataJSON: base64url.max(4_000),
    attestationObject: base64url.max(8_000),
    transports: z.array(z.string().max(20)).max(8).optional(),
  }),
})
const Assertion = z.object({
  ...common,
  response: z.object({
    clientDataJSON: base64url.max(4_000),
    authenticatorData: base64url.max(4_000),
    signature: base64url.max(2_000),
  }),
})

function parseAnswer<T>(schema: z.ZodType<T>, text: string): T | null {
  try {
    return schema.parse(JSON.parse(text))
  } catch {
    return null
  }
}

interface PasskeyRequest {
  /** Random bytes, base64url. */
  readonly challenge: string
  /** Passkeys of the person. */
  readonly known: readonly KnownPasskey[]
}

/** Options for `navigator.credentials.create`. */
export const registrationOptions = (
  { id: rpID }: RelyingParty,
  { challenge, known }: PasskeyRequest,
  { email, name }: { readonly email: string; readonly name: string },
) =>
  generateRegistrationOptions({
    challenge: bytesOf(challenge),
    rpName: 'Tillbook',
    rpID,
    userName: email,
    userDisplayName: name,
    timeout: TIMEOUT_MS,
    attestationType: 'none',
    excludeCredentials: known.map(credentialOf),
    authenticatorSelection: { residentKey: 'discouraged', userVerification: 'preferred' },
  })

/** Options for `navigator.credentials.get`. */
export const authenticationOptions = ({ id: rpID }: RelyingParty, { challenge, known }: PasskeyRequest) =>
  generateAuthenticationOptions({
    challenge: bytesOf(challenge),
    rpID,
    timeout: TIMEOUT_MS,
    allowCredentials: known.map(credentialOf),
    userVerification: 'preferred',
  })

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))

const credentialOf = ({ credentialId, transports }: KnownPasskey) => ({ id: credentialId, transports: [...transports] })

/** The passkey of a browser's answer; null if the answer is invalid for the challenge or for this site. */
export async function verifyRegistration(
  { id: expectedRPID, origin: expectedOrigin }: RelyingParty,
  expectedChallenge: string,
  answer: string,
): Promise<KnownPasskey | null> {
  const response = parseAnswer(Attestation, answer)
  if (!response) return null
  const verified = await verifyRegistrationResponse({
    response: { ...response, clientExtensionResults: {} } as RegistrationResponseJSON,
    expectedChallenge,
    expectedOrigin,
    expectedRPID,
    requireUserVerification: false,
  }).catch(() => null)
  if (!verified?.registrationInfo) return null
  const { id, publicKey, counter, transports = [] } = verified.registrationInfo.credential
  return { credentialId: id, publicKey: Buffer.from(publicKey).toString('base64url'), counter, transports }
}

/** The passkey that signed the challenge, with its new counter; null if none of the known ones did. */
export async function verifyAuthentication(
  { id: expectedRPID, origin: expectedOrigin }: RelyingParty,
  expectedChallenge: string,
  answer: string,
  known: readonly KnownPasskey[],
): Promise<KnownPasskey | null> {
  const response = parseAnswer(Assertion, answer)
  const passkey = response && known.find(({ credentialId }) => credentialId === response.id)
  if (!response || !passkey) return null
  const verified = await verifyAuthenticationResponse({
    response: { ...response, clientExtensionResults: {} } as AuthenticationResponseJSON,
    expectedChallenge,
    expectedOrigin,
    expectedRPID,
    credential: {
      id: passkey.credentialId,
      publicKey: bytesOf(passkey.publicKey),
      counter: passkey.counter,
      transports: [...passkey.transports],
    },
    requireUserVerification: false,
  }).catch(() => null)
  return verified?.verified ? { ...passkey, counter: verified.authenticationInfo.newCounter } : null
}
