import type { Access, Limits } from '#access/access.ts'
import type { Environment } from '#config/config.ts'
import type { LiveUpdates } from '#http/live-updates.ts'
import type { Traffic } from '#http/traffic.ts'
import type { LedgerReads } from '#integrity/as-of.ts'
import type { InstallationCheck } from '#integrity/installation-check.ts'
import type { Prover } from '#integrity/prover.ts'
import type { ProofServices } from '#integrity/sale-receipts.ts'
import type { Verifier } from '#integrity/verify.ts'
import type { Writer } from '#ledger/write/writer.ts'
import type { LogError } from '#lib/errors.ts'
import type { NotificationOutcomeRecord } from '#payments/notifications.ts'
import type { Payments } from '#payments/pay-order.ts'
import type { ProviderConnector } from '#payments/store-connections.ts'
import type { EventFeed } from '#webhooks/event-feed.ts'
import type { DeliveryNotifier } from '#webhooks/outbox.ts'

/** What proves that ledgers are intact. */
export interface Proofs {
  /** Verifies ledgers, a few at a time. */
  readonly verifier: Verifier
  /** Builds inclusion and consistency proofs of ledgers. */
  readonly prover: Prover
  /** Checkpoints and keys. */
  readonly proof: ProofServices
}

/** What belongs to the installation, not to a company. */
export interface InstallationServices {
  /** Checks that database, DATA_DIR and event store belong together. */
  readonly check: InstallationCheck
  /** Key of request hashes, the same in all processes of the database. */
  readonly requestSecret: Buffer
  /** Creates the ledger of a new company under an unused id. @throws Unavailable */
  found(companyId: number): Promise<void>
}

/** The payment provider, and what payments need besides it. */
export interface PaymentServices extends Payments {
  /** Null if the service has no credentials at the provider: owners cannot connect stores then. */
  readonly connector: ProviderConnector | null
  /** Called with the outcome of each payment notification. */
  readonly onNotified: (outcome: NotificationOutcomeRecord['outcome']) => void
}

export interface WebhookServices {
  /** Streams of events. */
  readonly feed: EventFeed
  /** Notified when deliveries are pending. */
  readonly notifier: DeliveryNotifier
}

/** One small record per area, made once by src/service. Each interface declares those that it is given. */
export interface Services {
  readonly reads: LedgerReads
  readonly writer: Writer
  readonly proofs: Proofs
  readonly installation: InstallationServices
  readonly access: Access
  readonly payments: PaymentServices
  readonly webhooks: WebhookServices
  /** Commits of all processes, for open pages. */
  readonly live: LiveUpdates
  readonly environment: Environment
  readonly limits: Limits
  readonly traffic: Traffic
  readonly log: LogError
}
