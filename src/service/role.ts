import type { Logger } from 'pino'
import type { Config } from '#config/config.ts'
import type { ProviderConnector } from '#payments/provider-connector.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import type { ErasureList } from '#privacy/erasure-list.ts'
import type { Metrics } from '#service/metrics/metrics.ts'
import type { Core } from './core.ts'
import type { Log } from './log.ts'

/** Creates the demonstration companies. Returns whether the file holds credentials. */
export type SeedDemo = (core: Core, files: { readonly baseUrl: string; readonly demoFile: string }) => Promise<boolean>

/** Shared by the roles of a process. Available before they start and until they have stopped. */
export interface SharedServices {
  readonly config: Config
  readonly databaseUrl: string
  readonly core: Core
  readonly forgottenList: ErasureList
  readonly provider: PaymentProvider
  /** Null without credentials of the service at the provider. */
  readonly connector: ProviderConnector | null
  readonly metrics: Metrics
  readonly seedDemo: SeedDemo
  readonly logger: Logger
  readonly log: Log
}

/** A running role. */
export interface RunningRole {
  /** Accepts nothing new; resolves when work in progress has ended. */
  stop(): Promise<void>
}
