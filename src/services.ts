import type { Pool } from 'pg'
import type { ApiAuthenticator, QuotaLimits } from '#access/api-authenticator.ts'
import type { AddressLimit, MinuteLimit } from '#access/minute-limit.ts'
import type { PanelLimits } from '#access/panel-quota.ts'
import type { PanelAccess } from '#access/sessions.ts'
import type { SyncAccess } from '#access/sync-access.ts'
import type { Vault } from '#crypto/vault.ts'
import type { Compress } from '#http/compression.ts'
import type { UnauthenticatedBodies } from '#http/middleware/json-body.ts'
import type { LogError } from '#http/middleware/problem-handler.ts'
import type { Outgoing } from '#http/outgoing.ts'
import type { PageCache } from '#http/page-cache.ts'
import type { RequestLog } from '#http/request-log/request-log.ts'
import type { AsOfCore } from '#integrity/audit/as-of.ts'
import type { Verifier } from '#integrity/audit/verify.ts'
import type { InstallationCheck } from '#integrity/proofs/installation-watch.ts'
import type { ProofServices } from '#integrity/proofs/proofs.ts'
import type { Prover } from '#integrity/proofs/prover.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { KeyedSemaphore } from '#lib/keyed-semaphore.ts'
import type { MemoryBudget } from '#lib/memory-budget.ts'
import type { LiveUpdates } from '#live/updates.ts'
import type { NotificationOutcomeRecord } from '#payments/notification-log.ts'
import type { ProviderConnector } from '#payments/provider-connector.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import type { PoolOf } from '#postgres/shared-pool.ts'
import type { EventFeed } from '#webhooks/event-feed.ts'
import type { DeliveryNotifier } from '#webhooks/notifier.ts'

/** What ledgers and read model offer to interfaces. `pool` is for queries that concern no company. */
export interface LedgerServices extends AsOfCore {
  /** For the statements of a company: its share of the same connections. */
  readonly poolOf: PoolOf
  /** Connections of the statements that look up keys, logins, sessions and tokens: each request waits for one. */
  readonly gate: Pool
  readonly writer: Writer
  /** Checks that database, DATA_DIR and event store belong together. */
  readonly installationCheck: InstallationCheck
  /** Verifies ledgers, a few at a time. */
  readonly verifier: Verifier
  /** Builds inclusion and consistency proofs of ledgers. */
  readonly prover: Prover
  /** Checkpoints and keys, for API clients. */
  readonly proof: ProofServices
  /** Encrypts and decrypts secrets. */
  readonly vault: Vault
  /** Key of request hashes, the same in all processes of the database. */
  readonly requestSecret: Buffer
  /** Notified when deliveries are pending. */
  readonly deliveryNotifier: DeliveryNotifier
  /** Creates the ledger of a new company under an unused id. @throws Unavailable */
  found(companyId: number): Promise<void>
}

/**
 * Services of a process, made once by src/service and handed on whole: each interface takes from it what it needs. Pages
 * that show only ledger data read from `readsOf` a company, others from `poolOf`.
 */
export interface Services extends LedgerServices {
  readonly authenticator: ApiAuthenticator
  readonly panel: PanelAccess
  /** Access of tills. */
  readonly sync: SyncAccess
  readonly provider: PaymentProvider
  /** Null if the service has no credentials at the provider: owners cannot connect stores then. */
  readonly connector: ProviderConnector | null
  /** Commits of all processes, for open pages. */
  readonly live: LiveUpdates
  /** Streams of events. */
  readonly feed: EventFeed
  /** Log of the company's requests. */
  readonly calls: RequestLog
  readonly pages: PageCache
  readonly compress: Compress
  /** Large answers to tills. */
  readonly outgoing: Outgoing
  /** Memory for request bodies. */
  readonly bodies: MemoryBudget
  /** Memory for bodies of clients without a key or login. */
  readonly unauthenticatedBodies: UnauthenticatedBodies
  /** Limits requests with large bodies. */
  readonly largeCalls: KeyedSemaphore
  /** Limits pages and forms of the panel, by user. */
  readonly panelTurns: KeyedSemaphore
  /** Limits of API keys. */
  readonly limits: QuotaLimits
  readonly panelLimits: PanelLimits
  /** Limit of clients without a key or login. */
  readonly addresses: AddressLimit
  /** Limit of checkout and receipt pages per address. */
  readonly checkoutLimit: AddressLimit
  readonly pictureLimit: AddressLimit
  /** Limit of payment notifications per IP address. */
  readonly notificationLimit: AddressLimit
  /** Limit of signed payment notifications per store and IP address. */
  readonly signedNotificationLimit: MinuteLimit
  /** Public base URL, without trailing slash. */
  readonly publicUrl: string
  /** Whether webhooks may use http and private addresses. */
  readonly allowPrivateTargets: boolean
  /** Years after its authorization for which a fiscal document needs personal data. */
  readonly retentionYears: number
  /** Commission of stores that owners create: percent with two decimals. */
  readonly storeCommission: string
  /** Generates a UUID. */
  readonly newId: () => string
  /** Generates a signing secret. */
  newSecret(): string
  /** Called for each cacheable answer of API v1 with its source. */
  readonly onPage: (from: 'memory' | 'tables') => void
  /** Called with the outcome of each payment notification. */
  readonly onNotified: (outcome: NotificationOutcomeRecord['outcome']) => void
  readonly log: LogError
}
