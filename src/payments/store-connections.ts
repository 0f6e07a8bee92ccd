import type { Pool } from 'pg'
import { type Dispatcher, fetch } from 'undici'
import * as z from 'zod'
import { refuseStoreConnection, renewStoreConnection } from '#commands/store-commands.ts'
import { openJson, sealContext, type Vault } from '#crypto/vault.ts'
import { printable } from '#domain/refusals.ts'
import { boundedText } from '#domain/text.ts'
import { isRecordingCompany } from '#ledger/ledgers.ts'
import { runAsSystem } from '#ledger/write/run.ts'
import type { Writer } from '#ledger/write/writer.ts'
import { type Repetition, repeat } from '#lib/background-loops.ts'
import type { LogError } from '#lib/errors.ts'
import { type StoreSecrets, storeSecrets } from '#projections/stores.ts'
import type { StoreAccess } from '#queries/company-queries.ts'
import { createProviderTransport, PROVIDER_ORIGIN } from './provider-client.ts'
import { type PaymentProvider, type ProviderAccount, ProviderUnavailable } from './provider-port.ts'

/** From the call to the last byte of the response. */
const TIMEOUT_MS = 10_000

/** Page on which the owner of an account at the provider authorizes the service. */
const AUTHORIZATION_PAGE = 'https://auth.mercadopago.com.br/authorization'

/** Tokens of an account at the provider, issued to the service by its owner. Secret. */
export interface ProviderTokens {
  readonly accessToken: string
  readonly refreshToken: string
  /** When the access token ends. */
  readonly expiresAt: string
  /** Account at the provider. */
  readonly accountId: string
  /** Whether the token moves real money. */
  readonly liveMode: boolean
}

/** The provider refused a code or a refresh token, or the service's own credentials. */
export class ConnectionRefused extends Error {
  /** Whether the service's own credentials were refused: no owner can mend that. */
  get isOfService(): boolean {
    return ['invalid_client', 'unauthorized_client'].includes(this.reason)
  }

  override readonly name = 'ConnectionRefused'
  /** @param reason code of the provider, such as `invalid_grant`; printable, without secrets */
  constructor(readonly reason: string) {
    super(`the payment provider refused to connect an account: ${reason}`)
  }
}

interface AuthorizationRequest {
  /** Returned by the provider as it is. */
  readonly state: string
  /** SHA-256 of the code's verifier, as base64url. */
  readonly challenge: string
  readonly redirectUri: string
}

interface CodeExchange {
  readonly code: string
  readonly verifier: string
  readonly redirectUri: string
  /** Requests a token of test payments. */
  readonly sandbox: boolean
}

/** Connects accounts to the service by the provider's OAuth: authorization code with PKCE. */
export interface ProviderConnector {
  /** Address that the owner of the account opens. */
  authorizationUrl(request: AuthorizationRequest): string
  /** @throws ConnectionRefused, ProviderUnavailable */
  exchange(exchange: CodeExchange): Promise<ProviderTokens>
  /** New tokens; the provider ends the old refresh token. @throws ConnectionRefused, ProviderUnavailable */
  renew(refreshToken: string): Promise<ProviderTokens>
  close(): Promise<void>
}

interface ConnectorOptions {
  /** Base URL of the provider's API, without trailing slash. */
  readonly baseUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly clock: () => number
}

export function createProviderConnector(options: ConnectorOptions): ProviderConnector {
  const { baseUrl, clientId, clientSecret, clock } = options
  const transport = createProviderTransport(baseUrl)
  const client = { client_id: clientId, client_secret: clientSecret }

  async function tokens(grant: Readonly<Record<string, string | boolean>>): Promise<ProviderTokens> {
    const dispatcher = transport.until(AbortSignal.timeout(TIMEOUT_MS))
    return readTokens(await post('/oauth/token', { ...client, ...grant }, dispatcher), clock())
  }

  return {
    authorizationUrl({ state, challenge, redirectUri }) {
      const query = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        platform_id: 'mp',
        redirect_uri: redirectUri,
        state,
        code_challenge: challenge,
        code_challenge_method: 'S256',
      })
      return `${baseUrl === PROVIDER_ORIGIN ? AUTHORIZATION_PAGE : `${baseUrl}/authorization`}?${query}`
    },
    exchange: ({ code, verifier, redirectUri, sandbox }) =>
      tokens({
        grant_type: 'authorization_code',
        code,
        code_verifier: verifier,
        redirect_uri: redirectUri,
        ...(sandbox && { test_token: true }),
      }),
    renew: (refreshToken) => tokens({ grant_type: 'refresh_token', refresh_token: refreshToken }),
    close: () => transport.close(),
  }
}

/** @throws ConnectionRefused, ProviderUnavailable; neither contains a secret */
async function post(path: string, body: object, dispatcher: Dispatcher): Promise<unknown> {
  const response = await fetch(`${PROVIDER_ORIGIN}${path}`, {
    method: 'POST',
    dispatcher,
    redirect: 'error',
    headers: { 'Content-Type': 'application/json', 'Accept-Encoding': 'identity' },
    body: JSON.stringify(body),
  }).catch(() => {
    throw new ProviderUnavailable('provider gave no response to a request for tokens')
  })
  const answer: unknown = await response.json().catch(() => null)
  if (response.ok) return answer
  if ([400, 401, 403].includes(response.status)) throw new ConnectionRefused(reasonOf(answer, response.status))
  throw new ProviderUnavailable(`provider responded ${response.status} to a request for tokens`)
}

const Failure = z.object({ error: z.string().regex(/^[\w-]{1,60}$/) })

/** The provider's description may quote what was sent, so only its code is kept. */
const reasonOf = (answer: unknown, status: number): string => Failure.safeParse(answer).data?.error ?? String(status)

const SECRET = /^[\x21-\x7e]{1,500}$/

const Issued = z.object({
  access_token: z.string().regex(SECRET),
  refresh_token: z.string().regex(SECRET),
  /** Seconds; 180 days at present. */
  expires_in: z.int().positive().max(315_360_000),
  user_id: z.union([z.int().nonnegative(), boundedText(60)]).transform((id) => printable(String(id))),
  live_mode: z.boolean(),
})

function readTokens(answer: unknown, now: number): ProviderTokens {
  const { data } = Issued.safeParse(answer)
  if (!data) throw new ProviderUnavailable('provider gave no usable response to a request for tokens')
  return {
    accessToken: data.access_token,
    refreshToken: data.refresh_token,
    expiresAt: new Date(now + data.expires_in * 1000).toISOString(),
    accountId: data.user_id,
    liveMode: data.live_mode,
  }
}

const EVERY_MS = 300_000
/** Connections of a run. */
const BATCH = 32
/** Until a renewal that failed is repeated; a renewal that is under way is not repeated before. */
const REPEAT_HOURS = 1

export interface RenewalOptions {
  readonly pool: Pool
  readonly vault: Vault
  readonly writer: Writer
  readonly connector: ProviderConnector
  readonly log: LogError
}

/** Renews access tokens of connected stores before they end. Any number of processes share the work. */
export const startRenewals = (options: RenewalOptions, every_ms = EVERY_MS): Repetition =>
  repeat(
    (stopping) => renewConnections(options, stopping),
    every_ms,
    (error) => options.log('payments: renewing connections failed, will retry', error),
  )

interface DueRow {
  readonly company_id: number
  readonly store_id: number
  readonly alias: string
  readonly secrets: Buffer
}

/** Renews the connections that are due, one after the other. */
export async function renewConnections(options: RenewalOptions, stopping?: AbortSignal): Promise<void> {
  const { rows } = await options.pool.query<DueRow>(
    `update ops.store_secrets set renew_at = clock_timestamp() + make_interval(hours => $2)
     where (company_id, store_id) in (
       select company_id, store_id from ops.store_secrets
       where renew_at <= clock_timestamp() and secrets is not null and ${isRecordingCompany('company_id')}
       order by renew_at limit $1 for update skip locked)
     returning company_id, store_id, alias, secrets`,
    [BATCH, REPEAT_HOURS],
  )
  for (const row of rows) {
    if (stopping?.aborted) return
    await renew(options, row).catch((error: unknown) =>
      options.log('payments: renewing a connection failed, will retry', error, { store: row.alias }),
    )
  }
}

async function renew({ vault, writer, connector, log }: RenewalOptions, row: DueRow): Promise<void> {
  const { company_id, store_id, alias } = row
  const context = sealContext(storeSecrets.name, [company_id, store_id])
  const { refresh_token: used } = openJson<StoreSecrets['secrets']>(vault, row.secrets, context)
  if (used === undefined) return
  try {
    const { accessToken, refreshToken, expiresAt } = await connector.renew(used)
    const tokens = { access_token: accessToken, refresh_token: refreshToken, expires_at: expiresAt }
    await runAsSystem(writer, company_id, renewStoreConnection, { alias, used, ...tokens })
  } catch (error) {
    if (!(error instanceof ConnectionRefused) || error.isOfService) throw error
    log('payments: provider refused to renew a connection', error, { store: alias })
    await runAsSystem(writer, company_id, refuseStoreConnection, { alias, used, reason: error.reason })
  }
}

/** Provider account of a store. Calls fail without a token. */
export const accountAt = ({ accessToken, sandbox, isTest }: StoreAccess): ProviderAccount => ({
  accessToken: accessToken ?? '',
  sandbox,
  ...(isTest && { isTest }),
})

/** Routes accounts of test companies to the sandbox, and all others to the provider. */
export function withTestsAt(sandbox: PaymentProvider, provider: PaymentProvider): PaymentProvider {
  const of = ({ isTest }: ProviderAccount) => (isTest ? sandbox : provider)
  return {
    createPayment: (account, payment) => of(account).createPayment(account, payment),
    cancelPayment: (account, id) => of(account).cancelPayment(account, id),
    createRefund: (account, refund) => of(account).createRefund(account, refund),
    getPayment: (account, id) => of(account).getPayment(account, id),
    getPaymentMethods: (account) => of(account).getPaymentMethods(account),
    getCardOptions: (account, amountCents, bin) => of(account).getCardOptions(account, amountCents, bin),
    findPayments: (account, orderReference) => of(account).findPayments(account, orderReference),
  }
}
