import type { Logger } from 'pino'
import type { Config } from '#config/config.ts'
import type { HomeMetrics } from '#metrics/metrics.ts'
import type { PaymentProvider } from '#payments/provider-port.ts'
import type { ForgottenList } from '#wiping/forgotten-list.ts'
import type { Core } from './core.ts'
import type { Log } from './log.ts'

/** Makes the demonstration companies. Returns whether the file tells how to get in. */
export type SeedDemo = (core: Core, files: { readonly baseUrl: string; readonly demoFile: string }) => Promise<boolean>

/** What the roles of a process share: it is there before they start, and until they have stopped. */
export interface Shared {
  readonly config: Config
  readonly databaseUrl: string
  readonly core: Core
  readonly forgottenList: ForgottenList
  readonly provider: PaymentProvider
  readonly metrics: HomeMetrics
  readonly seedDemo: SeedDemo
  readonly logger: Logger
  readonly log: Log
}

/** A role at work. */
export interface Running {
  /** Takes nothing new, and resolves when what is under way has ended. */
  stop(): Promise<void>
}
