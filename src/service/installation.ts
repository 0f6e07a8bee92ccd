import { repeat } from '#background/repeat.ts'
import { type Inconsistency, inconsistencyMessage } from '#integrity/proofs/installation-check.ts'
import { type PaymentProvider, ProviderMisconfigured } from '#payments/provider-port.ts'
import type { RunningRole, SharedServices } from './role.ts'

/** Interval between checks. A restore may lose what was recorded since the last check without DATA_DIR showing it. */
const LOOK_MS = 15_000
/** Interval while writes are blocked: bounds the delay after an operator has confirmed a restore. */
const TROUBLED_LOOK_MS = 2_000

interface Watching extends Pick<SharedServices, 'core' | 'metrics' | 'logger' | 'log'> {
  /** Starts the background roles. */
  readonly begin: () => unknown
  /** The process cannot continue. */
  readonly onEnd: () => void
}

/**
 * Starts the background roles once database, DATA_DIR and event store belong together (OPS-80), then keeps checking. If
 * a later check finds an inconsistency, the process ends, and its next start reports the reason.
 */
export function watchInstallation({ core, metrics, logger, log, begin, onEnd }: Watching): RunningRole {
  const { installationCheck } = core
  let hasBegun = false
  let told: Inconsistency | null = null
  const tell = (inconsistency: Inconsistency | null) => {
    if (inconsistency && inconsistency !== told)
      logger.error({ installation: inconsistency }, inconsistencyMessage(inconsistency))
    told = inconsistency
  }
  function act(inconsistency: Inconsistency | null): void {
    tell(inconsistency)
    // Background roles were started under another assumption, so the process must restart.
    const mustEnd = inconsistency ? hasBegun : !hasBegun && wasCopy !== installationCheck.isCopy()
    if (mustEnd) onEnd()
    else if (!inconsistency && !hasBegun) {
      hasBegun = true
      begin()
    }
  }
  const wasCopy = installationCheck.isCopy()
  if (wasCopy) logger.warn('service: running as a copy; webhooks, e-mail and provider polling are off')
  metrics.gauge(
    'tillbook_installation_blocked',
    '1 while nothing is recorded, because database, DATA_DIR and event store do not belong together',
    () => (installationCheck.inconsistency() ? 1 : 0),
  )
  act(installationCheck.inconsistency())
  const looking = repeat(
    async () => {
      const inconsistency = await installationCheck.look()
      act(inconsistency)
      if (!inconsistency) await installationCheck.note()
    },
    () => (installationCheck.inconsistency() ? TROUBLED_LOOK_MS : LOOK_MS),
    (error) => log('database, DATA_DIR and event store could not be compared', error),
  )
  return {
    async stop() {
      await looking.stop()
      if (!installationCheck.inconsistency()) await installationCheck.note()
    },
  }
}

/**
 * Disables outgoing traffic of a copy: no e-mail, no attestation requests, no calls to the payment provider (OPS-86).
 */
export const asCopy = ({
  config,
}: Pick<SharedServices, 'config'>): Pick<SharedServices, 'config' | 'provider' | 'connector'> => ({
  config: { ...config, SMTP_URL: undefined, ...NO_ATTESTORS },
  provider: NO_PROVIDER,
  connector: null,
})

const NO_ATTESTORS = {
  WITNESS_URLS: undefined,
  SEAL_TSA_URL: undefined,
  SEAL_PUSH_URL: undefined,
  SEAL_PUSH_FOLDER: undefined,
}

const refused = (): Promise<never> => Promise.reject(new ProviderMisconfigured('a copy asks no payment provider'))

const NO_PROVIDER: PaymentProvider = {
  createPayment: refused,
  cancelPayment: refused,
  createRefund: refused,
  getPayment: refused,
  getPaymentMethods: refused,
  getCardOptions: refused,
  findPayments: refused,
}
